//! One operation of a bulk request.

use super::reference;
use crate::domain::scim::{
    error::{ScimError, excerpt},
    message::{check_size, find_member, find_text},
    schema::MAX_IDENTIFIER,
};
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Post,
    Put,
    Patch,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Users,
    Groups,
}

/// An operation that can be done as a request of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkOperation {
    /// Its place in the request, for the report.
    pub place: usize,
    pub method: Method,
    pub endpoint: Endpoint,
    /// The resource; a POST has none.
    pub id: Option<String>,
    /// What `If-Match` would say.
    pub version: Option<String>,
    /// The body; a DELETE has none.
    pub data: Option<Map<String, Value>>,
}

/// An operation as it stands in the request, or why it cannot be done.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) operation: Result<BulkOperation, ScimError>,
    method: Option<Method>,
    /// The endpoint and the resource that its path names, where it names any.
    pub(super) target: Option<(Endpoint, Option<String>)>,
    pub(super) bulk_id: Option<String>,
    /// The bulkIds it refers to.
    pub(super) references: Vec<String>,
}

impl Entry {
    /// Reads one operation. A malformed one fails by itself, not the whole request.
    pub(super) fn read(given: &Value) -> Self {
        let Value::Object(given) = given else {
            let why = ScimError::invalid_syntax("an operation is an object");
            return Self {
                operation: Err(why),
                method: None,
                target: None,
                bulk_id: None,
                references: Vec::new(),
            };
        };
        let method = read_method(given);
        let path = find_text(given, "path").ok().flatten();
        let target = path.and_then(|path| read_path(path).ok());
        let bulk_id = find_text(given, "bulkId").ok().flatten().map(str::to_owned);
        let operation = read_operation(given, bulk_id.as_deref());
        let mut references = Vec::new();
        if let Ok(operation) = &operation {
            reference::collect(operation.id.as_deref(), operation.data.as_ref(), &mut references);
        }
        Self { operation, method: method.ok(), target, bulk_id, references }
    }

    /// Says what it is to do, where that could be read.
    pub(super) fn what(&self) -> Option<(Method, Endpoint)> {
        let (endpoint, _) = self.target.as_ref()?;
        Some((self.method?, *endpoint))
    }

    pub(super) fn method_name(&self) -> Option<&'static str> {
        self.method.map(Method::name)
    }
}

fn read_operation(
    given: &Map<String, Value>,
    bulk_id: Option<&str>,
) -> Result<BulkOperation, ScimError> {
    check_size(given)?;
    let method = read_method(given)?;
    let (endpoint, id) = read_path(find_text(given, "path")?.unwrap_or(""))?;
    if id.is_some() == (method == Method::Post) {
        let detail = "a POST names an endpoint; all else names a resource";
        return Err(ScimError::invalid_path(detail));
    }
    let bulk_id_fits = bulk_id.is_some_and(|id| !id.is_empty() && id.len() <= MAX_IDENTIFIER);
    if (method == Method::Post || bulk_id.is_some()) && !bulk_id_fits {
        return Err(ScimError::invalid_syntax("a POST wants a bulkId"));
    }
    let data = match (method, find_member(given, "data")?) {
        (Method::Delete, _) => None,
        (_, Some(Value::Object(data))) => Some(data.clone()),
        _ => return Err(ScimError::invalid_syntax("`data` is an object")),
    };
    let version = find_text(given, "version")?.map(str::to_owned);
    Ok(BulkOperation { place: 0, method, endpoint, id, version, data })
}

fn read_method(given: &Map<String, Value>) -> Result<Method, ScimError> {
    let word = find_text(given, "method")?.unwrap_or("");
    let all = [Method::Post, Method::Put, Method::Patch, Method::Delete];
    let found = all.into_iter().find(|method| method.name().eq_ignore_ascii_case(word));
    let refuse = || ScimError::invalid_syntax(format!("no method {}", excerpt(word)));
    found.ok_or_else(refuse)
}

/// Reads `/Users` or `/Users/{id}`.
fn read_path(path: &str) -> Result<(Endpoint, Option<String>), ScimError> {
    let refuse = || ScimError::invalid_path(format!("no resource {}", excerpt(path)));
    let mut parts = path.strip_prefix('/').unwrap_or(path).splitn(2, '/');
    let endpoint = match parts.next() {
        Some("Users") => Endpoint::Users,
        Some("Groups") => Endpoint::Groups,
        _ => return Err(refuse()),
    };
    let is_id = |id: &str| {
        let fits = |byte: u8| byte.is_ascii_graphic() && !b"/?#%".contains(&byte);
        !id.is_empty() && id.len() <= MAX_IDENTIFIER && id.bytes().all(fits)
    };
    match parts.next() {
        None => Ok((endpoint, None)),
        Some(id) if is_id(id) => Ok((endpoint, Some(id.to_owned()))),
        Some(_) => Err(refuse()),
    }
}

impl BulkOperation {
    /// Replaces references in the path and in the body.
    pub(super) fn resolve(&mut self, find: &dyn Fn(&str) -> Option<String>) {
        if let Some(id) = &mut self.id {
            reference::replace_text(id, find);
        }
        for value in self.data.iter_mut().flat_map(Map::values_mut) {
            reference::replace(value, find);
        }
    }
}

impl Endpoint {
    /// Returns the last part of its address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Users => "Users",
            Self::Groups => "Groups",
        }
    }
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}
