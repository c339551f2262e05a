//! The main window's size and place, kept between two runs.

use serde::{Deserialize, Serialize};
use tauri::WebviewWindow;

use crate::profile::{Profile, write_whole};

/// The smallest that the window is made, in pixels of the page.
pub const SIZE_MIN: (f64, f64) = (320.0, 400.0);
/// As it is on the first start.
const SIZE_USUAL: (f64, f64) = (1280.0, 800.0);
/// The largest that a kept size is believed: wider than any screen, and no way to ask the system for a surface without end.
const SIZE_MAX: (f64, f64) = (16_384.0, 16_384.0);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowState {
    pub width: f64,
    pub height: f64,
    pub place: Option<(f64, f64)>,
    pub maximised: bool,
}

impl Default for WindowState {
    fn default() -> Self {
        Self { width: SIZE_USUAL.0, height: SIZE_USUAL.1, place: None, maximised: false }
    }
}

impl WindowState {
    /// What was kept; as on the first start where nothing was, or nothing that can be read.
    pub fn load(profile: &Profile) -> Self {
        let kept: Option<Self> = std::fs::read(profile.window_file()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        kept.unwrap_or_default().bounded()
    }

    /// Of a window that is open. A size of which the system says nothing is left as it was.
    pub fn of(window: &WebviewWindow, before: Self) -> Self {
        let scale = window.scale_factor().unwrap_or(1.0);
        let maximised = window.is_maximized().unwrap_or(false);
        // The size of a maximised window is the screen's: what it goes back to is the one before.
        let size = window.inner_size().ok().filter(|_| !maximised).map(|size| size.to_logical::<f64>(scale));
        let place = window.outer_position().ok().filter(|_| !maximised).map(|place| place.to_logical::<f64>(scale));
        Self {
            width: size.map_or(before.width, |size| size.width),
            height: size.map_or(before.height, |size| size.height),
            place: place.map_or(before.place, |place| Some((place.x, place.y))),
            maximised,
        }
    }

    pub fn save(&self, profile: &Profile) {
        if let Ok(bytes) = serde_json::to_vec_pretty(self) {
            // Not kept, the window comes back as it was before: nothing is lost.
            let _ = write_whole(&profile.window_file(), &bytes);
        }
    }

    fn bounded(self) -> Self {
        let size = |value: f64, min: f64, max: f64, usual: f64| if value.is_finite() { value.clamp(min, max) } else { usual };
        Self {
            width: size(self.width, SIZE_MIN.0, SIZE_MAX.0, SIZE_USUAL.0),
            height: size(self.height, SIZE_MIN.1, SIZE_MAX.1, SIZE_USUAL.1),
            ..self
        }
    }

    /// Whether enough of the window would lie on a screen to take hold of it: screens come and go between two runs.
    pub fn is_on(&self, screens: &[(f64, f64, f64, f64)]) -> bool {
        /// Pixels of the title that have to be in reach.
        const IN_REACH: f64 = 80.0;
        self.place.is_some_and(|(x, y)| {
            screens.iter().any(|(left, top, width, height)| {
                x + self.width > left + IN_REACH && x < left + width - IN_REACH && y >= *top && y < top + height - IN_REACH
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_comes_back_and_nonsense_does_not() {
        let base = tempfile::tempdir().unwrap();
        let profile = Profile::at(base.path()).unwrap();
        assert_eq!(WindowState::load(&profile), WindowState::default());
        let kept = WindowState { width: 1000.0, height: 700.0, place: Some((40.0, 60.0)), maximised: true };
        kept.save(&profile);
        assert_eq!(WindowState::load(&profile), kept);
        for text in ["{", "[]", r#"{"width":1,"height":1,"place":null,"maximised":false,"x":1}"#] {
            std::fs::write(profile.window_file(), text).unwrap();
            assert_eq!(WindowState::load(&profile), WindowState::default(), "{text}");
        }
        std::fs::write(profile.window_file(), r#"{"width":1,"height":1e300,"place":null,"maximised":false}"#).unwrap();
        let bounded = WindowState::load(&profile);
        assert_eq!((bounded.width, bounded.height), (SIZE_MIN.0, SIZE_MAX.1));
    }

    #[test]
    fn a_place_that_is_on_no_screen_is_not_taken() {
        let screens = [(0.0, 0.0, 1920.0, 1080.0), (1920.0, 0.0, 1280.0, 1024.0)];
        let at = |x: f64, y: f64| WindowState { place: Some((x, y)), ..WindowState::default() }.is_on(&screens);
        assert!(at(0.0, 0.0) && at(-1000.0, 10.0) && at(2000.0, 100.0));
        assert!(!at(-1250.0, 10.0) && !at(3190.0, 10.0) && !at(100.0, 1075.0) && !at(100.0, -40.0));
        assert!(!at(f64::NAN, 0.0) && !WindowState::default().is_on(&screens));
    }
}
