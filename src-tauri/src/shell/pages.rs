//! The main window's pages from a folder, in the build that says AUTOMATED: so a test gives that window a hostile build.
//!
//! The policy they are served under stays that of the configuration, and so do the capabilities. What is not in the folder is not
//! taken from the pages of this build.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use tauri::Wry;
use tauri::utils::assets::{AssetKey, AssetsIter, CspHash};

/// The variable that names the folder.
const FOLDER: &str = "VIDIMUS_MAIN_PAGES";

/// Serves the folder's pages in place of those of this build, where a folder is named.
pub fn replace(context: &mut tauri::Context<Wry>) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        // The pages of this build are dropped: a missing file must not look like a harmless one.
        drop(context.set_assets(Box::new(Folder(folder.into()))));
    }
}

struct Folder(PathBuf);

impl tauri::Assets<Wry> for Folder {
    fn get(&self, key: &AssetKey) -> Option<Cow<'_, [u8]>> {
        let path = Path::new(key.as_ref()).strip_prefix("/").ok()?;
        if path.components().any(|part| !matches!(part, Component::Normal(_))) {
            return None;
        }
        std::fs::read(self.0.join(path)).ok().map(Cow::Owned)
    }

    fn iter(&self) -> Box<AssetsIter<'_>> {
        Box::new(std::iter::empty())
    }

    fn csp_hashes(&self, _html_path: &AssetKey) -> Box<dyn Iterator<Item = CspHash<'_>> + '_> {
        Box::new(std::iter::empty())
    }
}
