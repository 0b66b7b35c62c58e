//! How one operation changes the attributes of a User.

use super::{Operation, Path, Verb, path::Values};
use crate::domain::scim::{
    attribute_path::Target,
    error::ScimError,
    filter::{Literal, Node, Operator, Subject, Test, fold_case},
    schema::{Attribute, Schema},
    value::{check_count, check_primary, is_primary, read_single, read_value},
};
use serde_json::{Map, Value};

type Attributes = Map<String, Value>;

impl Operation {
    pub(super) fn edit(&self, attributes: &mut Attributes) -> Result<(), ScimError> {
        match &self.path {
            Path::Password => Ok(()),
            Path::Extension(schema) => self.edit_extension(attributes, schema),
            Path::Attribute(target) => edit_in_place(attributes, target.extension, |container| {
                edit_attribute(container, self.verb, *target, self.value.as_ref())
            }),
            Path::Values(values) => {
                edit_in_place(attributes, values.target.extension, |container| {
                    self.edit_values(container, values)
                })
            }
        }
    }

    fn edit_extension(
        &self,
        attributes: &mut Attributes,
        schema: &'static Schema,
    ) -> Result<(), ScimError> {
        match (self.verb, &self.value) {
            (Verb::Remove, _) | (Verb::Replace, None) => {
                attributes.remove(schema.id);
                Ok(())
            }
            (Verb::Add, None) => Ok(()),
            (_, Some(Value::Object(members))) => {
                edit_in_place(attributes, Some(schema), |container| {
                    for (name, value) in members {
                        let found = schema.attribute(name).filter(|one| !one.is_read_only());
                        let Some(attribute) = found else { continue };
                        let target =
                            Target { extension: Some(schema), attribute, sub_attribute: None };
                        edit_attribute(container, self.verb, target, Some(value))?;
                    }
                    Ok(())
                })
            }
            (_, Some(_)) => {
                let detail = format!("the extension `{}` is an object", schema.name);
                Err(ScimError::invalid_value(detail))
            }
        }
    }

    fn edit_values(&self, container: &mut Attributes, path: &Values) -> Result<(), ScimError> {
        let attribute = path.target.attribute;
        let mut values = take_values(container, attribute);
        let matches = |value: &Value| {
            value.as_object().is_some_and(|members| path.condition.matches(members))
        };
        let matching: Vec<usize> =
            (0..values.len()).filter(|place| values.get(*place).is_some_and(matches)).collect();
        let change = match self.verb {
            Verb::Remove => None,
            Verb::Add | Verb::Replace => {
                read_change(attribute, path.sub_attribute, self.value.as_ref())?
            }
        };
        let is_whole = self.verb == Verb::Replace && path.sub_attribute.is_none();
        match change {
            Some(change) if !matching.is_empty() => {
                for place in &matching {
                    if let Some(value) = values.get_mut(*place) {
                        change_value(value, &change, is_whole);
                    }
                }
                let is_chosen = is_primary(&Value::Object(change));
                move_primary(attribute, &mut values, if is_chosen { &matching } else { &[] })?;
            }
            Some(change) => {
                // Entra sets `emails[type eq "work"].value` where there is none yet. A label such as
                // `primary` makes no value by itself.
                let names = ["type", "primary", "display"];
                let is_label = path.sub_attribute.is_some_and(|part| names.contains(&part.name));
                let made = make_value(&path.condition).filter(|_| !is_whole && !is_label);
                let Some(mut members) = made else {
                    // RFC 7644 §3.5.2.3
                    let detail = format!("no value of `{}` matches the filter", attribute.name);
                    return Err(ScimError::no_target(detail));
                };
                members.extend(change);
                add_values(attribute, &mut values, vec![Value::Object(members)])?;
            }
            None if self.verb == Verb::Add => {}
            None => match path.sub_attribute {
                None => values.retain(|value| !matches(value)),
                Some(part) => remove_part(&mut values, &matching, part),
            },
        }
        put_values(container, attribute, values)
    }
}

/// Edits the attributes themselves or those of an extension; an empty extension is not kept.
fn edit_in_place(
    attributes: &mut Attributes,
    extension: Option<&'static Schema>,
    edit: impl FnOnce(&mut Attributes) -> Result<(), ScimError>,
) -> Result<(), ScimError> {
    let Some(schema) = extension else {
        return edit(attributes);
    };
    let mut content = match attributes.remove(schema.id) {
        Some(Value::Object(content)) => content,
        _ => Map::new(),
    };
    edit(&mut content)?;
    if !content.is_empty() {
        attributes.insert(schema.id.to_owned(), content.into());
    }
    Ok(())
}

fn edit_attribute(
    container: &mut Attributes,
    verb: Verb,
    target: Target,
    value: Option<&Value>,
) -> Result<(), ScimError> {
    let attribute = target.attribute;
    if let Some(part) = target.sub_attribute {
        return edit_part(container, verb, attribute, (part, value));
    }
    if verb == Verb::Remove {
        return match value {
            Some(value) if attribute.multi_valued => {
                let mut values = take_values(container, attribute);
                let given = take_array(read_value(attribute, value)?);
                values.retain(|value| !given.iter().any(|one| covers(attribute, one, value)));
                put_values(container, attribute, values)
            }
            _ => {
                container.remove(attribute.name);
                Ok(())
            }
        };
    }
    let read = value.map(|value| read_value(attribute, value)).transpose()?.flatten();
    match (read, verb) {
        (None, Verb::Replace) => {
            container.remove(attribute.name);
        }
        (None, _) => {}
        (Some(Value::Array(given)), Verb::Add) => {
            let mut values = take_values(container, attribute);
            add_values(attribute, &mut values, given)?;
            return put_values(container, attribute, values);
        }
        // RFC 7644 §3.5.2.3: what is not given of a complex value stays. Where it has a `value` it
        // refers to something, and what was said of another does not stay.
        (Some(Value::Object(given)), _) if attribute.sub_attribute("value").is_none() => {
            match container.get_mut(attribute.name) {
                Some(Value::Object(members)) => members.extend(given),
                _ => {
                    container.insert(attribute.name.to_owned(), given.into());
                }
            }
        }
        (Some(read), _) => {
            container.insert(attribute.name.to_owned(), read);
        }
    }
    Ok(())
}

/// Changes a sub-attribute of the one value or of all values. Where there is none, one is made.
fn edit_part(
    container: &mut Attributes,
    verb: Verb,
    attribute: &'static Attribute,
    (part, value): (&'static Attribute, Option<&Value>),
) -> Result<(), ScimError> {
    let mut values = take_values(container, attribute);
    let all: Vec<usize> = (0..values.len()).collect();
    let change = match verb {
        Verb::Remove => None,
        Verb::Add | Verb::Replace => read_change(attribute, Some(part), value)?,
    };
    match change {
        Some(change) if values.is_empty() => values.push(Value::Object(change)),
        Some(change) => {
            for value in &mut values {
                change_value(value, &change, false);
            }
            check_primary(attribute, &values)?;
        }
        None if verb != Verb::Add => remove_part(&mut values, &all, part),
        None => {}
    }
    put_values(container, attribute, values)
}

/// Reads what is given for a value or for one sub-attribute of it, as members of that value.
fn read_change(
    attribute: &'static Attribute,
    part: Option<&'static Attribute>,
    value: Option<&Value>,
) -> Result<Option<Attributes>, ScimError> {
    let Some(value) = value else { return Ok(None) };
    if let Some(part) = part {
        let read = read_value(part, value)?;
        return Ok(read.map(|read| [(part.name.to_owned(), read)].into_iter().collect()));
    }
    // One value is meant; some clients send it in an array.
    let single = match value {
        Value::Array(values) => match values.as_slice() {
            [single] => single,
            _ => return Err(ScimError::invalid_value("a path to values wants one object")),
        },
        single => single,
    };
    match read_single(attribute, single)? {
        Some(Value::Object(members)) => Ok(Some(members)),
        _ => Ok(None),
    }
}

fn change_value(value: &mut Value, change: &Attributes, is_whole: bool) {
    let Value::Object(members) = value else { return };
    if is_whole {
        members.clone_from(change);
        return;
    }
    let is_other = change.get("value").is_some_and(|new| members.get("value") != Some(new));
    if is_other {
        // The address belongs to what was referred to before.
        members.remove("$ref");
    }
    members.extend(change.clone());
}

fn remove_part(values: &mut [Value], places: &[usize], part: &Attribute) {
    for place in places {
        if let Some(Value::Object(members)) = values.get_mut(*place) {
            members.remove(part.name);
        }
    }
}

/// Adds values that are not there yet. One that differs in `primary` alone is there.
fn add_values(
    attribute: &Attribute,
    values: &mut Vec<Value>,
    given: Vec<Value>,
) -> Result<(), ScimError> {
    let mut chosen = Vec::new();
    for one in given {
        let found = values.iter().position(|value| is_same(value, &one));
        let place = found.unwrap_or(values.len());
        if is_primary(&one) {
            chosen.push(place);
        }
        match found.and_then(|place| values.get_mut(place)) {
            Some(value) if one.get("primary").is_some() => *value = one,
            Some(_) => {}
            None => values.push(one),
        }
        check_count(attribute, values.len())?;
    }
    move_primary(attribute, values, &chosen)
}

/// Takes `primary` from the others where this operation gave it to one (RFC 7644 §3.5.2).
fn move_primary(
    attribute: &Attribute,
    values: &mut [Value],
    chosen: &[usize],
) -> Result<(), ScimError> {
    if let [chosen] = chosen {
        for (place, value) in values.iter_mut().enumerate() {
            if let Value::Object(members) = value
                && place != *chosen
                && members.get("primary") == Some(&Value::Bool(true))
            {
                members.insert("primary".to_owned(), false.into());
            }
        }
    }
    check_primary(attribute, values)
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let rest = |members: &Attributes| {
                let mut rest = members.clone();
                rest.remove("primary");
                rest
            };
            rest(one) == rest(other)
        }
        _ => one == other,
    }
}

/// Tells whether a value has everything that the given one has.
fn covers(attribute: &Attribute, given: &Value, value: &Value) -> bool {
    let (Value::Object(given), Value::Object(members)) = (given, value) else {
        return given == value;
    };
    given.iter().all(|(name, one)| match (one, members.get(name)) {
        (Value::String(one), Some(Value::String(other))) => {
            let is_exact = attribute.sub_attribute(name).is_some_and(|part| part.case_exact);
            one == other || (!is_exact && fold_case(one) == fold_case(other))
        }
        (one, other) => other == Some(one),
    })
}

/// Makes the value that a condition describes, if it consists of equalities alone.
fn make_value(condition: &Node) -> Option<Attributes> {
    let tests = match condition {
        Node::And(nodes) => nodes.as_slice(),
        node => std::slice::from_ref(node),
    };
    let mut members = Map::new();
    for test in tests {
        let Node::Test(Test { subject: Subject::Part(part), operator, literal, .. }) = test else {
            return None;
        };
        let value = match literal {
            Literal::Text(text) => Value::String(text.clone()),
            Literal::Boolean(truth) => Value::Bool(*truth),
            Literal::Null | Literal::Number(_) => return None,
        };
        let is_usable = *operator == Operator::Equal && !part.is_read_only();
        let read = read_value(part, &value).ok().flatten().filter(|_| is_usable)?;
        members.insert(part.name.to_owned(), read);
    }
    condition.matches(&members).then_some(members)
}

/// Takes the values out; a single one is as if it were one of many.
fn take_values(container: &mut Attributes, attribute: &Attribute) -> Vec<Value> {
    container.remove(attribute.name).map_or_else(Vec::new, |value| take_array(Some(value)))
}

fn take_array(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(values)) => values,
        single => single.into_iter().collect(),
    }
}

/// Puts the values back; those without content are left out, and no values means no attribute.
fn put_values(
    container: &mut Attributes,
    attribute: &Attribute,
    mut values: Vec<Value>,
) -> Result<(), ScimError> {
    values.retain(|value| value.as_object().is_none_or(|members| !members.is_empty()));
    check_count(attribute, values.len())?;
    let value = if attribute.multi_valued { Some(Value::Array(values)) } else { values.pop() };
    let filled = value.filter(|value| value.as_array().is_none_or(|values| !values.is_empty()));
    if let Some(value) = filled {
        container.insert(attribute.name.to_owned(), value);
    }
    Ok(())
}
