//! Many operations in one request (RFC 7644 §3.7).
//!
//! The caller takes one operation after the other and reports what became of it:
//!
//! 1. [`Bulk::read`] reads the body and finds the order: what is referred to comes first.
//! 2. [`Bulk::take_next`] gives the next operation, with `bulkId:…` replaced by identifiers.
//! 3. [`Bulk::report`] keeps the result. After `failOnErrors` failures nothing follows.
//! 4. [`Bulk::take_refusals`] tells what was refused since it was last asked.
//! 5. [`Bulk::response`] makes the body of the answer.
//!
//! An operation fails by itself, without being given out, if it is malformed (400), if it refers to a
//! bulkId that is not there (400), to an operation that failed (409), or in a circle (409).

mod operation;
mod reference;
#[cfg(test)]
mod tests;

pub use operation::{BulkOperation, Endpoint, Method};

use super::{
    error::ScimError,
    message::{check_size, find_member, require_schema},
};
use operation::Entry;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// The schema of the request.
pub const BULK_REQUEST: &str = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
/// The schema of the answer.
pub const BULK_RESPONSE: &str = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";
/// The most operations in one request.
pub const MAX_BULK_OPERATIONS: usize = 100;

/// A bulk request and how far it has come.
#[derive(Clone, Debug)]
pub struct Bulk {
    entries: Vec<Entry>,
    results: Vec<Option<BulkResult>>,
    /// What is still to be done, as places in the request.
    order: VecDeque<usize>,
    failures_allowed: Option<u64>,
    failures: u64,
    /// What was refused and not told yet.
    refusals: Vec<BulkRefusal>,
}

/// An operation that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkRefusal {
    /// Where that could be read.
    pub operation: Option<(Method, Endpoint)>,
    pub error: ScimError,
}

/// What became of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkResult {
    pub status: u16,
    /// The identifier of the resource, to which `bulkId:…` then refers.
    pub id: Option<String>,
    pub location: Option<String>,
    pub version: Option<String>,
    /// Why it failed.
    pub error: Option<ScimError>,
}

impl Bulk {
    pub fn read(body: &Map<String, Value>) -> Result<Self, ScimError> {
        require_schema(body, BULK_REQUEST)?;
        check_size(body)?;
        let failures_allowed = match find_member(body, "failOnErrors")? {
            None => None,
            Some(value) => {
                let number = value.as_u64().filter(|number| *number > 0);
                let refuse = || ScimError::invalid_value("`failOnErrors` is a number from 1 on");
                Some(number.ok_or_else(refuse)?)
            }
        };
        let Some(Value::Array(given)) = find_member(body, "Operations")? else {
            return Err(ScimError::invalid_syntax("`Operations` is an array"));
        };
        if given.len() > MAX_BULK_OPERATIONS {
            let detail = format!("a bulk request has at most {MAX_BULK_OPERATIONS} operations");
            return Err(ScimError::too_large(detail));
        }
        let entries: Vec<Entry> = given.iter().map(Entry::read).collect();
        let places = find_places(&entries)?;
        let results = vec![None; entries.len()];
        let order = sort(&entries, &places);
        Ok(Self { entries, results, order, failures_allowed, failures: 0, refusals: Vec::new() })
    }

    /// Returns the next operation, or `None` where all are done or too many failed.
    pub fn take_next(&mut self) -> Option<BulkOperation> {
        while !self.is_over() {
            let place = self.order.pop_front()?;
            match self.prepare(place) {
                Ok(operation) => return Some(operation),
                Err(why) => self.report(place, BulkResult::failure(&why)),
            }
        }
        None
    }

    /// Keeps what became of the operation with this place.
    pub fn report(&mut self, place: usize, result: BulkResult) {
        self.failures += u64::from(!result.is_success());
        if let Some(error) = &result.error {
            let operation = self.entries.get(place).and_then(Entry::what);
            self.refusals.push(BulkRefusal { operation, error: error.clone() });
        }
        if let Some(kept) = self.results.get_mut(place) {
            *kept = Some(result);
        }
    }

    /// Tells what was refused since it was last asked.
    pub fn take_refusals(&mut self) -> Vec<BulkRefusal> {
        std::mem::take(&mut self.refusals)
    }

    /// Returns the body of the answer. What was not begun is not in it. `base` is the address of the SCIM service,
    /// without a slash at its end.
    pub fn response(&self, base: &str) -> Value {
        let ids = self.known_ids();
        let done = self.entries.iter().zip(&self.results);
        let operations: Vec<Value> = done
            .filter_map(|(entry, result)| {
                let result = result.as_ref()?;
                let location = result.location.clone().or_else(|| locate(entry, &ids, base));
                Some(show(entry, result, location.as_deref()))
            })
            .collect();
        json!({ "schemas": [BULK_RESPONSE], "Operations": operations })
    }

    fn is_over(&self) -> bool {
        self.failures_allowed.is_some_and(|allowed| self.failures >= allowed)
    }

    fn prepare(&self, place: usize) -> Result<BulkOperation, ScimError> {
        let missing = || ScimError::invalid_syntax("no such operation");
        let entry = self.entries.get(place).ok_or_else(missing)?;
        let mut operation = entry.operation.clone()?;
        operation.place = place;
        let ids = self.known_ids();
        for bulk_id in &entry.references {
            match ids.get(bulk_id.as_str()) {
                Some(Reference::Known(_)) => {}
                Some(Reference::Failed) => {
                    let detail = "it refers to an operation that failed";
                    return Err(ScimError::conflict(detail));
                }
                // RFC 7644 §3.7.1 lets us stop here with 409.
                Some(Reference::Open) => {
                    return Err(ScimError::conflict("operations refer to each other in a circle"));
                }
                None => {
                    let detail = "it refers to a bulkId that is not in this request";
                    return Err(ScimError::invalid_value(detail));
                }
            }
        }
        operation.resolve(&|bulk_id| match ids.get(bulk_id) {
            Some(Reference::Known(id)) => Some((*id).to_owned()),
            _ => None,
        });
        Ok(operation)
    }

    fn known_ids(&self) -> BTreeMap<&str, Reference<'_>> {
        let each = self.entries.iter().zip(&self.results);
        each.filter_map(|(entry, result)| {
            let bulk_id = entry.bulk_id.as_deref()?;
            let reference = match result {
                None => Reference::Open,
                Some(BulkResult { id: Some(id), status: 200..300, .. }) => Reference::Known(id),
                Some(_) => Reference::Failed,
            };
            Some((bulk_id, reference))
        })
        .collect()
    }
}

/// What a bulkId stands for.
enum Reference<'a> {
    Known(&'a str),
    Failed,
    /// Not done yet.
    Open,
}

impl BulkResult {
    pub fn failure(why: &ScimError) -> Self {
        Self { status: why.status, error: Some(why.clone()), ..Self::default() }
    }

    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Finds the place of each bulkId; each may be there once.
fn find_places(entries: &[Entry]) -> Result<BTreeMap<&str, usize>, ScimError> {
    let mut places = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let Some(bulk_id) = entry.bulk_id.as_deref() else { continue };
        if places.insert(bulk_id, place).is_some() {
            return Err(ScimError::invalid_value("a bulkId is given twice"));
        }
    }
    Ok(places)
}

/// Orders the operations: as they are in the request, except that what is referred to comes first.
/// Those in a circle are last, and fail.
fn sort(entries: &[Entry], places: &BTreeMap<&str, usize>) -> VecDeque<usize> {
    let mut order = VecDeque::with_capacity(entries.len());
    let mut is_done = vec![false; entries.len()];
    loop {
        let is_ready = |entry: &Entry| {
            let mut needed = entry.references.iter().filter_map(|id| places.get(id.as_str()));
            needed.all(|place| is_done.get(*place) == Some(&true))
        };
        let waiting = entries.iter().zip(&is_done).enumerate();
        let next = waiting.filter(|(_, (_, done))| !**done).find(|(_, (entry, _))| is_ready(entry));
        let Some((place, _)) = next else { break };
        order.push_back(place);
        if let Some(done) = is_done.get_mut(place) {
            *done = true;
        }
    }
    let circular = is_done.iter().enumerate().filter(|(_, done)| !**done);
    order.extend(circular.map(|(place, _)| place));
    order
}

/// Returns the address of the resource that an operation names, also where it failed or the resource is gone: a POST
/// alone may be without one (RFC 7644 §3.7).
fn locate(entry: &Entry, ids: &BTreeMap<&str, Reference<'_>>, base: &str) -> Option<String> {
    let (endpoint, id) = entry.target.as_ref()?;
    let id = match reference::read(id.as_deref()?) {
        None => id.as_deref()?,
        Some(bulk_id) => match ids.get(bulk_id)? {
            Reference::Known(id) => *id,
            Reference::Failed | Reference::Open => return None,
        },
    };
    Some(format!("{base}/{}/{id}", endpoint.name()))
}

fn show(entry: &Entry, result: &BulkResult, location: Option<&str>) -> Value {
    let mut shown = Map::new();
    let mut put = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            shown.insert(name.to_owned(), value.into());
        }
    };
    put("method", entry.method_name());
    put("bulkId", entry.bulk_id.as_deref());
    put("version", result.version.as_deref());
    put("location", location);
    put("status", Some(&result.status.to_string()));
    if let Some(error) = &result.error {
        shown.insert("response".to_owned(), error.to_json());
    }
    Value::Object(shown)
}
