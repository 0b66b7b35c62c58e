use super::*;

/// The smallest PNG of these sides that says how large it is.
fn png_of(width: u32, height: u32, more: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    bytes.extend([8, 6, 0, 0, 0, 1, 2, 3, 4]);
    bytes.extend(more);
    bytes.extend(b"\0\0\0\0IDAT\0\0\0\0");
    bytes
}

fn jpeg_of(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08".to_vec();
    bytes.extend([height.to_be_bytes(), width.to_be_bytes()].concat());
    bytes
}

fn webp_of(chunk: &[u8]) -> Vec<u8> {
    [b"RIFF\0\0\0\0WEBP", chunk].concat()
}

fn svg_of(inside: &str) -> Vec<u8> {
    let space = "xmlns=\"http://www.w3.org/2000/svg\"";
    format!("<svg {space} viewBox=\"0 0 96 24\">{inside}</svg>").into_bytes()
}

#[test]
fn a_picture_is_known_by_its_first_bytes() {
    let lossy = webp_of(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x60\x40\x18\x00");
    let lossless = webp_of(b"VP8L\0\0\0\0\x2f\x5f\xc0\x05\x00");
    let extended = webp_of(b"VP8X\0\0\0\0\0\0\0\0\x5f\0\0\x17\0\0");
    for (format, bytes) in [
        (Format::Png, png_of(96, 24, b"")),
        (Format::Jpeg, jpeg_of(96, 24)),
        (Format::Webp, lossy),
        (Format::Webp, lossless),
        (Format::Webp, extended),
    ] {
        let picture = Picture::of_points(bytes.clone()).unwrap();
        let PictureFacts { format: found, width, height, hash } = &picture.facts;
        assert_eq!((*found, *width, *height), (format, 96, 24));
        assert_eq!(hash.len(), 22);
        assert_eq!(Picture::of_any(bytes).unwrap(), picture);
        let text = serde_json::to_string(&picture).unwrap();
        assert_eq!(serde_json::from_str::<Picture>(&text).unwrap(), picture);
    }
    let svg = Picture::of_any(svg_of("<path d=\"M0 0h9\"/>")).unwrap();
    assert_eq!((svg.facts.format, svg.facts.width, svg.facts.height), (Format::Svg, 960, 240));
}

#[test]
fn what_is_large_broken_or_something_else_is_refused() {
    let refused = |bytes: &[u8]| Picture::of_points(bytes.to_vec()).unwrap_err();
    assert_eq!(refused(&[png_of(1, 1, b""), vec![0; LARGEST]].concat()), Fault::Large);
    assert_eq!(refused(b""), Fault::Unknown);
    assert_eq!(refused(b"GIF89a\x01\0\x01\0"), Fault::Unknown);
    assert_eq!(refused(b"<!doctype html><script>"), Fault::Unknown);
    assert_eq!(refused(&svg_of("")), Fault::Unknown, "an SVG is for operators alone");
    assert_eq!(Picture::of_any(b"<html>".to_vec()), Err(Fault::UnknownOrSvg));
    for (width, height) in [(0, 1), (1, 0), (2_049, 1), (1, u32::MAX)] {
        assert_eq!(refused(&png_of(width, height, b"")), Fault::Sides);
    }
    assert_eq!(refused(&jpeg_of(0, 9)), Fault::Sides);
    assert_eq!(refused(&png_of(9, 9, b"\0\0\0\0acTL\0\0\0\0")), Fault::Moves);
    assert_eq!(refused(&webp_of(b"VP8X\0\0\0\0\x02\0\0\0\x5f\0\0\x17\0\0")), Fault::Moves);
    assert_eq!(refused(&png_of(9, 9, b"\xff\xff\xff\xffzTXt")), Fault::Broken, "a wrong length");
}

#[test]
fn no_picture_that_breaks_off_is_more_than_refused() {
    let whole = [
        png_of(9, 9, b"\0\0\0\x02tEXtab\0\0\0\0"),
        jpeg_of(9, 9),
        webp_of(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x60\x40\x18\x00"),
        webp_of(b"VP8L\0\0\0\0\x2f\x5f\xc0\x05\x00"),
        webp_of(b"VP8X\0\0\0\0\0\0\0\0\x5f\0\0\x17\0\0"),
        svg_of("<path d=\"M0 0\"/>"),
    ];
    for bytes in whole {
        for end in 0..bytes.len() {
            let _ = Picture::of_any(bytes[..end].to_vec());
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] = 0xff;
            let _ = Picture::of_any(other);
        }
    }
}

#[test]
fn an_svg_with_something_that_runs_fetches_or_moves_is_refused() {
    for inside in [
        "<script>alert(1)</script>",
        "<SCRIPT/>",
        "<x:script xmlns:x=\"http://www.w3.org/2000/svg\"/>",
        "<foreignObject><p/></foreignObject>",
        "<rect onload=\"alert(1)\"/>",
        "<rect x='1'onclick = 'alert(1)'/>",
        "<a href=\"https://evil.test/\"><rect/></a>",
        "<a xlink:href = 'javascript:alert(1)'/>",
        "<use href=\"//evil.test/x.svg#a\"/>",
        "<image href=\"http://evil.test/pixel.png\"/>",
        "<rect style=\"fill:url( 'https://evil.test/' )\"/>",
        "<style>@import 'https://evil.test/';</style>",
        "<animate attributeName=\"x\"/>",
        "<set attributeName=\"x\"/>",
        "<style>a{animation:x 1s infinite}</style>",
    ] {
        let refused = Picture::of_any(svg_of(inside));
        assert!(matches!(refused, Err(Fault::Svg(_))), "{inside}: {refused:?}");
    }
    let bomb = "<!DOCTYPE svg [<!ENTITY a \"aaaa\">]><svg viewBox=\"0 0 1 1\">&a;</svg>";
    assert!(matches!(Picture::of_any(bomb.into()), Err(Fault::Svg(_))));
}

#[test]
fn an_svg_as_programs_draw_it_is_taken() {
    for text in [
        "<?xml version=\"1.0\"?>\n<!-- drawn -->\n<svg width=\"20px\" height='10'>\
         <defs><linearGradient id=\"a\"/></defs><rect fill=\"url(#a)\"/></svg>",
        "\u{feff}<svg\n viewBox='0, 0, 20, 10' data-viewBox='x'><use href=\"#a\"/>\
         <title>once upon</title><image href=\"data:image/png;base64,AA==\"/></svg>",
    ] {
        let picture = Picture::of_any(text.into()).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!((picture.facts.width, picture.facts.height), (480, 240));
    }
    for sides in [
        "",
        "viewBox=\"0 0 1\"",
        "viewBox=\"0 0 0 1\"",
        "width=\"100%\" height=\"1\"",
        "viewBox=\"0 0 NaN 1\"",
        "viewBox=\"0 0 1 100\"",
        "viewBox=\"0 0 -5 -5\"",
    ] {
        let refused = Picture::of_any(format!("<svg {sides}></svg>").into());
        assert_eq!(refused, Err(Fault::Broken), "{sides}");
    }
}

#[test]
fn a_picture_is_written_as_a_data_url_and_read_as_it_was() {
    let picture = Picture::of_points(png_of(96, 24, b"")).unwrap();
    let url = picture.data_url();
    assert!(url.starts_with("data:image/png;base64,"), "{url}");
    assert_eq!(Picture::of_data_url(&url), Ok(picture.clone()));
    // What it is called does not count.
    let other = url.replace("image/png", "text/html;charset=utf-8");
    assert_eq!(Picture::of_data_url(&other), Ok(picture));
    let large = format!("data:image/png;base64,{}", "A".repeat(4 * LARGEST));
    for (bad, fault) in [
        ("", Fault::DataUrl),
        ("data:", Fault::DataUrl),
        ("data:image/png,abc", Fault::DataUrl),
        ("data:image/png;base64,a b", Fault::DataUrl),
        ("data:image/png;base64,", Fault::UnknownOrSvg),
        ("data:text/html;base64,PGI+", Fault::UnknownOrSvg),
        (&large, Fault::Large),
    ] {
        assert_eq!(Picture::of_data_url(bad), Err(fault), "{bad:.40}");
    }
}
