//! Pictures of the display.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Desktop, DesktopError, START_WITHIN};

/// The title that dunst gives its windows.
const NOTIFICATION_TITLE: &str = "Dunst";

/// Background and frame; letters with smooth edges add their shades.
const COLOURS_OF_AN_EMPTY_POPUP: u32 = 4;

impl Desktop {
    /// Takes a picture of the whole display, as PNG.
    ///
    /// A mapped window is not a painted one: wait for the content first.
    pub fn screenshot(&self, path: &Path) -> Result<(), DesktopError> {
        self.picture("root", path)
    }

    /// Takes a picture of the one visible window whose title contains `title`, as PNG.
    pub fn window_screenshot(&self, title: &str, path: &Path) -> Result<(), DesktopError> {
        self.picture(&self.wait_for_window(title, START_WITHIN)?, path)
    }

    /// Waits for a visible window whose title contains `title`, and returns its X number.
    pub fn wait_for_window(&self, title: &str, within: Duration) -> Result<String, DesktopError> {
        self.wait_until(&format!("a window titled `{title}`"), within, || {
            let found = self.run("xdotool", &["search", "--onlyvisible", "--name", title]).ok()?;
            found.lines().next().map(str::to_owned)
        })
    }

    /// Takes a picture of the whole display as soon as the notification on it can be read.
    ///
    /// The server answers the sender before it draws: a picture at that moment shows nothing.
    pub fn notification_screenshot(&self, path: &Path) -> Result<(), DesktopError> {
        let popup = self.wait_for_window(NOTIFICATION_TITLE, START_WITHIN)?;
        self.wait_until("a notification that is drawn", START_WITHIN, || {
            self.picture(&popup, path).ok()?;
            self.colours(path).ok().filter(|colours| *colours > COLOURS_OF_AN_EMPTY_POPUP)
        })?;
        self.screenshot(path)
    }

    fn picture(&self, window: &str, path: &Path) -> Result<(), DesktopError> {
        let target = path.to_str().ok_or_else(|| DesktopError::Program {
            program: "import".to_owned(),
            detail: format!("the path `{}` is not UTF-8", path.display()),
        })?;
        // `png:` and not the suffix decides the format.
        self.run("import", &["-silent", "-window", window, &format!("png:{target}")]).map(drop)
    }

    /// Where the virtual display keeps what it shows.
    pub(super) fn frames_directory(&self) -> PathBuf {
        self.logs().with_file_name("frames")
    }

    /// What the virtual display shows, read as it is at that moment.
    pub fn frames(&self) -> Result<Frames, DesktopError> {
        let path = self.frames_directory().join("Xvfb_screen0");
        let failed = |source| DesktopError::File { path: path.clone(), source };
        let file = File::open(&path).map_err(failed)?;
        let mut header = [0_u8; 80];
        file.read_exact_at(&mut header, 0).map_err(failed)?;
        // An X window dump: whole words of the byte order of the network, the colours after the header.
        let word = |index: usize| u64::from(u32::from_be_bytes([0, 1, 2, 3].map(|byte| header[index * 4 + byte])));
        let (header_bytes, line_bytes, colours) = (word(0), word(12), word(19));
        Ok(Frames { file, first: header_bytes + colours * 12, line_bytes })
    }

    /// How many different colours a picture has: 1 means that nothing was drawn.
    pub fn colours(&self, path: &Path) -> Result<u32, DesktopError> {
        let answer = self.run("identify", &["-format", "%k", &path.to_string_lossy()])?;
        answer.trim().parse().map_err(|_| DesktopError::Answer { program: "identify".to_owned(), detail: answer })
    }
}

/// What a virtual display shows.
#[derive(Debug)]
pub struct Frames {
    file: File,
    first: u64,
    line_bytes: u64,
}

impl Frames {
    /// The red, green and blue of a point.
    pub fn colour(&self, x: u64, y: u64) -> std::io::Result<[u8; 3]> {
        let mut point = [0_u8; 4];
        self.file.read_exact_at(&mut point, self.first + y * self.line_bytes + x * 4)?;
        let [blue, green, red, _] = point;
        Ok([red, green, blue])
    }
}
