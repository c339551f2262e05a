//! Pictures of the display.

use std::path::Path;
use std::time::Duration;

use super::{Desktop, DesktopError, START_WITHIN};

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

    fn picture(&self, window: &str, path: &Path) -> Result<(), DesktopError> {
        let target = path.to_str().ok_or_else(|| DesktopError::Program {
            program: "import".to_owned(),
            detail: format!("the path `{}` is not UTF-8", path.display()),
        })?;
        // `png:` and not the suffix decides the format.
        self.run("import", &["-silent", "-window", window, &format!("png:{target}")]).map(drop)
    }

    /// How many different colours a picture has: 1 means that nothing was drawn.
    pub fn colours(&self, path: &Path) -> Result<u32, DesktopError> {
        let answer = self.run("identify", &["-format", "%k", &path.to_string_lossy()])?;
        answer.trim().parse().map_err(|_| DesktopError::Answer { program: "identify".to_owned(), detail: answer })
    }
}
