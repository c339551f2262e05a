//! The tray's pictures: the eye by state, with the number of what waits on its badge.

use tauri::image::Image;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    Idle,
    Waiting,
    Offline,
    Paused,
}

const SIDE: usize = 64;
/// The badge of the waiting picture, as `icons/tray/waiting.svg` draws it.
const BADGE_CENTRE: (usize, usize) = (48, 16);
const BADGE_RADIUS: usize = 11;
const BADGE: [u8; 4] = [0xFF, 0xD2, 0x7A, 0xFF];
const INK: [u8; 4] = [0x12, 0x20, 0x36, 0xFF];

/// Digits and a plus, five by seven points, a row a line.
const GLYPHS: [[&str; 7]; 11] = [
    [".###.", "#...#", "#..##", "#.#.#", "##..#", "#...#", ".###."],
    ["..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."],
    [".###.", "#...#", "....#", "..##.", ".#...", "#....", "#####"],
    [".###.", "#...#", "....#", "..##.", "....#", "#...#", ".###."],
    ["...#.", "..##.", ".#.#.", "#..#.", "#####", "...#.", "...#."],
    ["#####", "#....", "####.", "....#", "....#", "#...#", ".###."],
    [".###.", "#....", "#....", "####.", "#...#", "#...#", ".###."],
    ["#####", "....#", "...#.", "..#..", "..#..", ".#...", ".#..."],
    [".###.", "#...#", "#...#", ".###.", "#...#", "#...#", ".###."],
    [".###.", "#...#", "#...#", ".####", "....#", "....#", ".###."],
    [".....", "..#..", "..#..", "#####", "..#..", "..#..", "....."],
];
const GLYPH_WIDTH: usize = 5;
const GLYPH_HEIGHT: usize = 7;
const PLUS: usize = 10;

/// The picture of a state. Only the waiting one carries a number: 1 to 9, then 9+.
pub(super) fn drawn(variant: Variant, waiting: usize) -> tauri::Result<Image<'static>> {
    let bytes: &[u8] = match variant {
        Variant::Idle | Variant::Paused => include_bytes!("../../../icons/tray/idle.png"),
        Variant::Waiting => include_bytes!("../../../icons/tray/waiting.png"),
        Variant::Offline => include_bytes!("../../../icons/tray/offline.png"),
    };
    let image = Image::from_bytes(bytes)?;
    if matches!(variant, Variant::Idle | Variant::Offline) || (image.width() as usize, image.height() as usize) != (SIDE, SIDE) {
        return Ok(image);
    }
    let mut pixels = image.rgba().to_vec();
    if variant == Variant::Paused {
        pause(&mut pixels);
        return Ok(Image::new_owned(pixels, image.width(), image.height()));
    }
    match waiting {
        0 => {}
        1..=9 => write(&mut pixels, &[waiting], 3),
        _ => write(&mut pixels, &[9, PLUS], 2),
    }
    Ok(Image::new_owned(pixels, image.width(), image.height()))
}

/// Two bars on the badge.
fn pause(pixels: &mut [u8]) {
    badge(pixels);
    let (centre_x, centre_y) = BADGE_CENTRE;
    for y in centre_y - 6..=centre_y + 6 {
        for x in (centre_x - 5..=centre_x - 2).chain(centre_x + 2..=centre_x + 5) {
            put(pixels, x, y, INK);
        }
    }
}

/// Clears the badge.
fn badge(pixels: &mut [u8]) {
    let (centre_x, centre_y) = BADGE_CENTRE;
    for y in centre_y - BADGE_RADIUS..=centre_y + BADGE_RADIUS {
        for x in centre_x - BADGE_RADIUS..=centre_x + BADGE_RADIUS {
            if x.abs_diff(centre_x).pow(2) + y.abs_diff(centre_y).pow(2) <= BADGE_RADIUS.pow(2) {
                put(pixels, x, y, BADGE);
            }
        }
    }
}

/// Writes glyphs, each point `scale` pixels wide, into the middle of the cleared badge.
fn write(pixels: &mut [u8], glyphs: &[usize], scale: usize) {
    badge(pixels);
    let (centre_x, centre_y) = BADGE_CENTRE;
    let gap = scale;
    let width = glyphs.len() * GLYPH_WIDTH * scale + (glyphs.len() - 1) * gap;
    let top = centre_y - GLYPH_HEIGHT * scale / 2;
    for (place, glyph) in glyphs.iter().enumerate() {
        let left = centre_x - width / 2 + place * (GLYPH_WIDTH * scale + gap);
        for (row, points) in GLYPHS[*glyph].iter().enumerate() {
            for (column, _) in points.bytes().enumerate().filter(|(_, point)| *point == b'#') {
                for (dx, dy) in (0..scale).flat_map(|dy| (0..scale).map(move |dx| (dx, dy))) {
                    put(pixels, left + column * scale + dx, top + row * scale + dy, INK);
                }
            }
        }
    }
}

fn put(pixels: &mut [u8], x: usize, y: usize, colour: [u8; 4]) {
    let at = (y * SIDE + x) * 4;
    if let Some(pixel) = pixels.get_mut(at..at + 4) {
        pixel.copy_from_slice(&colour);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_is_there_and_each_number_looks_different() {
        let plain = [Variant::Idle, Variant::Offline, Variant::Paused].map(|variant| drawn(variant, 5).unwrap().rgba().to_vec());
        assert!(plain[0] != plain[1] && plain[0] != plain[2] && plain[1] != plain[2]);
        assert_eq!(drawn(Variant::Idle, 0).unwrap().rgba(), plain[0]);
        let numbered: Vec<Vec<u8>> = (0..=11).map(|count| drawn(Variant::Waiting, count).unwrap().rgba().to_vec()).collect();
        for (count, one) in numbered.iter().enumerate().take(10) {
            assert!(numbered[count + 1..].iter().all(|other| one != other), "{count}");
        }
        assert_eq!(numbered[10], numbered[11], "above nine it says 9+");
    }
}
