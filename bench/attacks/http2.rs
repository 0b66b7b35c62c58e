//! Just enough HTTP/2 to ask without ever taking an answer (RFC 9113, RFC 7541).

/// The preface, and settings that give every stream a window of so many bytes.
pub fn opening(window: u8) -> Vec<u8> {
    let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, window];
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings].concat()
}

/// A GET on a stream, which is the whole request.
pub fn get(stream: u32, path: &str, accept: &str) -> Vec<u8> {
    // GET and https, from the static table.
    let mut block = vec![0x82, 0x87];
    field(&mut block, b":path", path.as_bytes());
    field(&mut block, b":authority", b"id.example.com");
    field(&mut block, b"accept", accept.as_bytes());
    let mut frame = Vec::with_capacity(block.len() + 9);
    let length = u32::try_from(block.len()).unwrap_or(u32::MAX);
    frame.extend(&length.to_be_bytes()[1..]);
    // HEADERS, with the end of the headers and of the stream.
    frame.extend([1, 5]);
    frame.extend(stream.to_be_bytes());
    frame.extend(block);
    frame
}

/// A field that is not put into any table.
fn field(block: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    block.push(0);
    for text in [name, value] {
        length(block, text.len());
        block.extend(text);
    }
}

/// A length in as many bytes as it needs.
fn length(block: &mut Vec<u8>, length: usize) {
    if length < 127 {
        block.extend(u8::try_from(length));
        return;
    }
    block.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        block.extend(u8::try_from(rest % 128 + 128));
        rest /= 128;
    }
    block.extend(u8::try_from(rest));
}
