//! What an index can answer of a filter.

use super::{Filter, Literal, Node, Operator, Subject, Test, ValuePath};
use crate::domain::scim::{attribute_path::Target, schema::GROUP};

/// A value that every match of the filter has. The filter must still be asked of what is found by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lookup {
    Id(String),
    /// In the case in which it was written; see [`super::fold_case`].
    UserName(String),
    ExternalId(String),
    /// Of a Group, in the case in which it was written.
    DisplayName(String),
    /// The identifier of a member of a Group.
    Member(String),
}

/// Which members a Group must be shown with so that the filter can be asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberNeed {
    None,
    /// Those of these that it has; all others may be left out.
    These(Vec<String>),
    All,
}

impl Filter {
    /// Returns what pins the matches down, the narrowest first.
    pub fn lookup(&self) -> Option<Lookup> {
        let nodes = match &self.root {
            Node::And(nodes) => nodes.as_slice(),
            node => std::slice::from_ref(node),
        };
        nodes.iter().filter_map(|node| self.pin(node)).min()
    }

    fn pin(&self, node: &Node) -> Option<Lookup> {
        let is_group = *self.resource_type == GROUP;
        match node {
            Node::Test(test) => {
                let (target, text) = test.equal_text()?;
                let text = text.to_owned();
                match (target.attribute.name, is_group) {
                    _ if target.extension.is_some() => None,
                    ("id", _) => Some(Lookup::Id(text)),
                    ("externalId", _) => Some(Lookup::ExternalId(text)),
                    ("userName", false) => Some(Lookup::UserName(text)),
                    ("displayName", true) => Some(Lookup::DisplayName(text)),
                    ("members", true) if is_value(target) => Some(Lookup::Member(text)),
                    _ => None,
                }
            }
            Node::Values(path) if path.is_members() => {
                let mut ids = path.condition.value_conjuncts();
                ids.next().map(|id| Lookup::Member(id.to_owned()))
            }
            _ => None,
        }
    }

    /// Returns which members decide it, so that a Group of many need not be read whole.
    pub fn member_need(&self) -> MemberNeed {
        let mut ids = Vec::new();
        match self.root.collect_members(&mut ids) {
            false => MemberNeed::All,
            true if ids.is_empty() => MemberNeed::None,
            true => {
                ids.sort_unstable();
                ids.dedup();
                MemberNeed::These(ids)
            }
        }
    }
}

impl Node {
    /// Collects the members that decide it; false where all of them do.
    fn collect_members(&self, ids: &mut Vec<String>) -> bool {
        match self {
            Self::And(nodes) | Self::Or(nodes) => {
                nodes.iter().all(|node| node.collect_members(ids))
            }
            Self::Not(node) => node.collect_members(ids),
            Self::Test(test) => match (test.subject, test.equal_text()) {
                (Subject::Attribute(target), found) if target.attribute.name == "members" => {
                    let id = found.filter(|_| is_value(target)).map(|(_, id)| id.to_owned());
                    let is_some = id.is_some();
                    ids.extend(id);
                    is_some
                }
                _ => true,
            },
            Self::Values(path) if path.is_members() => match path.condition.values() {
                Some(found) => {
                    ids.extend(found);
                    true
                }
                None => false,
            },
            Self::Values(_) => true,
        }
    }

    /// Within brackets: returns the identifiers of which a match has one, or `None` where the
    /// condition does not name them.
    fn values(&self) -> Option<Vec<String>> {
        match self {
            Self::Test(_) | Self::And(_) => Some(vec![self.value_conjuncts().next()?.to_owned()]),
            Self::Or(nodes) => {
                let each: Option<Vec<Vec<String>>> = nodes.iter().map(Self::values).collect();
                each.map(|lists| lists.concat())
            }
            Self::Not(_) | Self::Values(_) => None,
        }
    }

    /// Within brackets: returns the texts that `value` must equal.
    fn value_conjuncts(&self) -> impl Iterator<Item = &str> {
        let nodes = match self {
            Self::And(nodes) => nodes.as_slice(),
            node => std::slice::from_ref(node),
        };
        nodes.iter().filter_map(|node| match node {
            Self::Test(Test {
                subject: Subject::Part(attribute),
                operator: Operator::Equal,
                literal: Literal::Text(text),
                ..
            }) if attribute.name == "value" => Some(text.as_str()),
            _ => None,
        })
    }
}

impl Test {
    fn equal_text(&self) -> Option<(Target, &str)> {
        match (self.subject, self.operator, &self.literal) {
            (Subject::Attribute(target), Operator::Equal, Literal::Text(text)) => {
                Some((target, text))
            }
            _ => None,
        }
    }
}

impl ValuePath {
    fn is_members(&self) -> bool {
        self.target.is_some_and(|target| target.attribute.name == "members")
    }
}

fn is_value(target: Target) -> bool {
    target.sub_attribute.is_none_or(|part| part.name == "value")
}
