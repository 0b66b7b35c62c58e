//! A small database of places, written by hand in the `MaxMind DB` format, version 2: a tree over the bits of IPv4
//! addresses, then the records, then what the database says of itself.

/// A network and where it is.
#[derive(Clone, Copy)]
pub struct City {
    /// The first address.
    pub address: [u8; 4],
    /// How many of its bits name the network.
    pub bits: u32,
    pub english: &'static str,
    pub portuguese: &'static str,
    pub country: &'static str,
    pub latitude: f64,
    pub longitude: f64,
}

pub const LISBON: City = City {
    address: [192, 0, 2, 0],
    bits: 24,
    english: "Lisbon",
    portuguese: "Lisboa",
    country: "Portugal",
    latitude: 38.72,
    longitude: -9.14,
};

pub const SYDNEY: City = City {
    address: [198, 51, 100, 0],
    bits: 24,
    english: "Sydney",
    portuguese: "Sydney",
    country: "Australia",
    latitude: -33.87,
    longitude: 151.21,
};

const POINTER_BYTES: usize = 3;
const SEPARATOR: usize = 16;

/// A child of a node of the tree.
#[derive(Clone, Copy)]
enum Child {
    Nothing,
    Node(usize),
    /// The place of a record.
    Record(usize),
}

/// Writes a database that was built at a time, in seconds since 1970.
pub fn place_database(built_at: u64, cities: &[City]) -> Vec<u8> {
    let (mut nodes, mut records) = (vec![[Child::Nothing; 2]], Vec::new());
    for city in cities {
        let record = Child::Record(records.len());
        records.extend(record_of(city));
        let (address, mut node) = (u32::from_be_bytes(city.address), 0);
        for place in 0..city.bits {
            let bit = usize::from(address >> (31 - place) & 1 == 1);
            if place + 1 == city.bits {
                nodes[node][bit] = record;
            } else if let Child::Node(next) = nodes[node][bit] {
                node = next;
            } else {
                nodes.push([Child::Nothing; 2]);
                nodes[node][bit] = Child::Node(nodes.len() - 1);
                node = nodes.len() - 1;
            }
        }
    }
    let count = nodes.len();
    let pointer = |child: &Child| match child {
        Child::Nothing => count,
        Child::Node(node) => *node,
        Child::Record(place) => count + SEPARATOR + place,
    };
    let mut file = Vec::new();
    for child in nodes.iter().flatten() {
        let bytes = pointer(child).to_be_bytes();
        file.extend(&bytes[bytes.len() - POINTER_BYTES..]);
    }
    file.extend([0; SEPARATOR]);
    file.extend(records);
    file.extend(b"\xab\xcd\xefMaxMind.com");
    file.extend(metadata(count, built_at));
    file
}

fn record_of(city: &City) -> Vec<u8> {
    let names = |english: &str, portuguese: &str| {
        let names = map(&[("en", text(english)), ("pt-BR", text(portuguese))]);
        map(&[("names", names)])
    };
    let location = map(&[
        ("accuracy_radius", number(5, &20_u16.to_be_bytes())),
        ("latitude", number(3, &city.latitude.to_be_bytes())),
        ("longitude", number(3, &city.longitude.to_be_bytes())),
    ]);
    map(&[
        ("city", names(city.english, city.portuguese)),
        ("country", names(city.country, city.country)),
        ("location", location),
    ])
}

fn metadata(nodes: usize, built_at: u64) -> Vec<u8> {
    let nodes = u32::try_from(nodes).unwrap();
    map(&[
        ("binary_format_major_version", number(5, &2_u16.to_be_bytes())),
        ("binary_format_minor_version", number(5, &0_u16.to_be_bytes())),
        ("build_epoch", extended(9, &built_at.to_be_bytes())),
        ("database_type", text("Porteiro-Test-City")),
        ("description", map(&[("en", text("places of a test"))])),
        ("ip_version", number(5, &4_u16.to_be_bytes())),
        ("languages", [vec![2, 4], text("en"), text("pt-BR")].concat()),
        ("node_count", number(6, &nodes.to_be_bytes())),
        ("record_size", number(5, &24_u16.to_be_bytes())),
    ])
}

/// A control byte: three bits for the type, five for the length.
fn control(kind: u8, length: usize) -> u8 {
    assert!(length < 29, "a test needs no longer one");
    kind << 5 | u8::try_from(length).unwrap()
}

fn text(text: &str) -> Vec<u8> {
    [&[control(2, text.len())], text.as_bytes()].concat()
}

fn number(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[control(kind, bytes.len())], bytes].concat()
}

/// A value whose type stands in a byte of its own.
fn extended(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[control(0, bytes.len()), kind - 7], bytes].concat()
}

fn map(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let parts = members.iter().flat_map(|(name, value)| [text(name), value.clone()].concat());
    [control(7, members.len())].into_iter().chain(parts).collect()
}
