//! The packages for Debian: the console with its desktop file, icons and metainfo; the gate with its unit and its own user.
//!
//! Two packages, since they belong on two machines: whoever runs the gate does not sign on it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::PackageOptions;
use crate::progress::Progress;
use crate::setup::{self, Purpose};
use crate::{Stop, command, demo, test};

/// The size of each icon, and the file that it is.
const ICONS: [(&str, &str); 4] =
    [("32x32", "32x32.png"), ("128x128", "128x128.png"), ("256x256", "128x128@2x.png"), ("512x512", "icon.png")];

const MAINTAINER: &str = "The Vidimus maintainers <maintainers@vidimus.example>";

/// What the console loads by itself, which no list of its linked libraries names.
const CONSOLE_DEPENDS: &str = "libayatana-appindicator3-1";
const CONSOLE_RECOMMENDS: &str = "gnome-keyring | org.freedesktop.secrets, notification-daemon";

/// One package.
struct Package {
    name: &'static str,
    section: &'static str,
    summary: &'static str,
    text: &'static str,
    /// The program that its dependencies are read of.
    program: &'static str,
    depends: &'static str,
    recommends: &'static str,
}

const CONSOLE: Package = Package {
    name: "vidimus",
    section: "misc",
    summary: "see what an AI agent asks for, and sign the answer",
    text: " The desk at which a person stands between an AI agent and money. It needs a\n gate to work with, and an invitation from one of its administrators.",
    program: "vidimus",
    depends: CONSOLE_DEPENDS,
    recommends: CONSOLE_RECOMMENDS,
};

const GATE: Package = Package {
    name: "vidimus-gate",
    section: "net",
    summary: "holds what an AI agent would spend until people have signed it",
    text: " Routes the tool calls of agents, holds what spends or commits until people\n have signed it, and executes it once. Nothing is started before it is made by\n `vidimus-gate init`.",
    program: "vidimus-gate",
    depends: "",
    recommends: "systemd",
};

/// Builds for release and makes both packages.
pub fn run(root: &Path, options: &PackageOptions) -> Result<(), Stop> {
    let mut progress = Progress::new(if options.programs.is_some() { 1 } else { 5 });
    let programs = match &options.programs {
        Some(directory) => PathBuf::from(directory),
        None => {
            let node = progress.step("set up", "seconds", || setup::all(root, options.consent, Purpose::Demo))?;
            progress.step("front end: packages", "15 s the first time", || test::front_end_packages(root, &node))?;
            progress.step("front end: build", "5 s", || command::run(node.npm(&root.join("ui")).args(["run", "build"])))?;
            progress.step("build for release", "10 minutes the first time on two cores", || {
                // Neither the demo nor a driver's door belongs into what is installed.
                command::run(test::cargo(root).args(["build", "--release", "--package", "vidimus-gate"]))?;
                command::run(test::cargo(root).args([
                    "build",
                    "--release",
                    "--package",
                    "vidimus",
                    "--features",
                    "vidimus/custom-protocol",
                ]))
            })?;
            demo::target_directory(root).join("release")
        }
    };
    let out = root.join(&options.out);
    progress.step("packages", "seconds", || {
        for package in [CONSOLE, GATE] {
            let file = make(root, &programs, &out, &package)?;
            println!("{}", file.display());
        }
        Ok(())
    })
}

fn failed(what: &Path) -> impl Fn(std::io::Error) -> Stop + '_ {
    move |error| Stop::Failed(format!("{}: {error}", what.display()))
}

/// Lays one package out and packs it.
fn make(root: &Path, programs: &Path, out: &Path, package: &Package) -> Result<PathBuf, Stop> {
    let tree = out.join(package.name);
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(failed(&tree))?;
    }
    let version = version(root)?;
    let mut layout = Layout { root, tree: tree.clone() };
    layout.put(&programs.join(package.program), &format!("usr/bin/{}", package.program), 0o755)?;
    layout.put(&root.join("LICENSE"), &format!("usr/share/doc/{}/copyright", package.name), 0o644)?;
    if package.name == CONSOLE.name {
        console_files(&mut layout, &version)?
    } else {
        gate_files(&mut layout)?
    }
    let control = control(&tree, package, &version)?;
    layout.write("DEBIAN/control", &control, 0o644)?;
    let architecture = architecture()?;
    let file = out.join(format!("{}_{version}_{architecture}.deb", package.name));
    command::run(Command::new("dpkg-deb").args(["--build", "--root-owner-group"]).arg(&tree).arg(&file))?;
    Ok(file)
}

fn console_files(layout: &mut Layout, version: &str) -> Result<(), Stop> {
    let id = "dev.vidimus.console";
    layout.copy(&format!("packaging/console/{id}.desktop"), &format!("usr/share/applications/{id}.desktop"), 0o644)?;
    let metainfo = fs::read_to_string(layout.root.join(format!("packaging/console/{id}.metainfo.xml"))).map_err(failed(layout.root))?;
    let metainfo = metainfo.replace("@VERSION@", version).replace("@DATE@", &date(layout.root));
    layout.write(&format!("usr/share/metainfo/{id}.metainfo.xml"), &metainfo, 0o644)?;
    for (size, file) in ICONS {
        layout.copy(&format!("icons/{file}"), &format!("usr/share/icons/hicolor/{size}/apps/{id}.png"), 0o644)?;
    }
    layout.copy("icons/vidimus.svg", &format!("usr/share/icons/hicolor/scalable/apps/{id}.svg"), 0o644)
}

fn gate_files(layout: &mut Layout) -> Result<(), Stop> {
    layout.copy("packaging/gate/vidimus-gate.service", "usr/lib/systemd/system/vidimus-gate.service", 0o644)?;
    layout.copy("packaging/gate/vidimus-gate.sysusers", "usr/lib/sysusers.d/vidimus-gate.conf", 0o644)?;
    layout.copy("packaging/gate/environment", "etc/vidimus-gate/environment", 0o640)?;
    layout.copy("docs/operations.md", "usr/share/doc/vidimus-gate/operations.md", 0o644)?;
    layout.copy("packaging/gate/postinst", "DEBIAN/postinst", 0o755)?;
    layout.copy("packaging/gate/prerm", "DEBIAN/prerm", 0o755)?;
    layout.write("DEBIAN/conffiles", "/etc/vidimus-gate/environment\n", 0o644)
}

/// The tree of a package while it is laid out.
struct Layout<'a> {
    root: &'a Path,
    tree: PathBuf,
}

impl Layout<'_> {
    fn copy(&mut self, from: &str, to: &str, mode: u32) -> Result<(), Stop> {
        self.put(&self.root.join(from), to, mode)
    }

    fn put(&mut self, from: &Path, to: &str, mode: u32) -> Result<(), Stop> {
        let bytes = fs::read(from).map_err(failed(from))?;
        self.bytes(to, &bytes, mode)
    }

    fn write(&mut self, to: &str, text: &str, mode: u32) -> Result<(), Stop> {
        self.bytes(to, text.as_bytes(), mode)
    }

    fn bytes(&mut self, to: &str, bytes: &[u8], mode: u32) -> Result<(), Stop> {
        let file = self.tree.join(to);
        let mut directory = self.tree.clone();
        for part in Path::new(to).parent().into_iter().flat_map(Path::components) {
            directory.push(part);
            fs::create_dir_all(&directory).map_err(failed(&directory))?;
            // Whatever mask this runs under: a package's directories are everybody's to read.
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).map_err(failed(&directory))?;
        }
        fs::set_permissions(&self.tree, fs::Permissions::from_mode(0o755)).map_err(failed(&self.tree))?;
        fs::write(&file, bytes).map_err(failed(&file))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).map_err(failed(&file))
    }
}

fn control(tree: &Path, package: &Package, version: &str) -> Result<String, Stop> {
    let linked = linked(&tree.join("usr/bin").join(package.program))?;
    let depends: Vec<&str> = [linked.as_str(), package.depends].into_iter().filter(|part| !part.is_empty()).collect();
    Ok(format!(
        "Package: {}\nVersion: {version}\nArchitecture: {}\nMaintainer: {MAINTAINER}\nSection: {}\nPriority: optional\n\
         Installed-Size: {}\nDepends: {}\nRecommends: {}\nDescription: {}\n{}\n",
        package.name,
        architecture()?,
        package.section,
        kibibytes(tree)?,
        depends.join(", "),
        package.recommends,
        package.summary,
        package.text
    ))
}

/// The packages of the libraries that a program is linked with, as `dpkg-shlibdeps` knows them.
fn linked(program: &Path) -> Result<String, Stop> {
    // It wants the description of a source package beside itself; only the names in it matter.
    let place = program.with_extension("shlibs");
    let debian = place.join("debian");
    fs::create_dir_all(&debian).map_err(failed(&debian))?;
    fs::write(debian.join("control"), "Source: vidimus\n\nPackage: vidimus\nArchitecture: any\n").map_err(failed(&debian))?;
    let output = Command::new("dpkg-shlibdeps").current_dir(&place).arg("-O").arg(program).output();
    fs::remove_dir_all(&place).map_err(failed(&place))?;
    let output = output.map_err(|error| Stop::Unmet(format!("`dpkg-shlibdeps` is missing: install `dpkg-dev` ({error})")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().find_map(|line| line.strip_prefix("shlibs:Depends=")).map(str::trim);
    found.map(str::to_owned).ok_or_else(|| Stop::Failed(format!("dpkg-shlibdeps: {}", String::from_utf8_lossy(&output.stderr))))
}

fn kibibytes(tree: &Path) -> Result<u64, Stop> {
    let mut bytes = 0;
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(failed(&folder))?.flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { bytes += entry.metadata().map_err(failed(&path))?.len() }
        }
    }
    Ok(bytes.div_ceil(1024))
}

fn architecture() -> Result<String, Stop> {
    command::answer("dpkg", &["--print-architecture"])
        .ok_or_else(|| Stop::Unmet("packages for Debian are made on Debian: `dpkg` is missing".to_owned()))
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String, Stop> {
    let manifest = root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(failed(&manifest))?;
    let workspace = text.split_once("[workspace.package]").map(|(_, rest)| rest).unwrap_or_default();
    let version = workspace.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version.map(str::to_owned).ok_or_else(|| Stop::Failed("the workspace names no version".to_owned()))
}

/// The day of the last commit: the same tree makes the same package.
fn date(root: &Path) -> String {
    let directory = root.to_string_lossy().into_owned();
    command::answer("git", &["-C", &directory, "log", "-1", "--format=%cs"]).unwrap_or_else(|| "1970-01-01".to_owned())
}
