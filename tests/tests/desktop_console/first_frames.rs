//! The first frames of a window: in the dark, nothing light is on the screen before the page is.

use std::time::{Duration, Instant};

use vidimus_tests::desktop::{Keyring, NotificationServer, Options};
use vidimus_tests::processes::Process;

use crate::scene::{Outcome, SOON, Scene, check, play};

/// The brightest that any surface of the dark theme, or of the toolkit's own, is.
const DARK_MAX: u8 = 0x40;
/// A surface of the page: the navigation of the main window.
const PAINTED: [u8; 3] = [0x16, 0x1a, 0x21];
/// Points all over the window, none on a letter.
const POINTS: [(u64, u64); 5] = [(640, 400), (300, 700), (100, 400), (900, 90), (1270, 790)];

#[tokio::test(flavor = "multi_thread")]
async fn a_dark_start_shows_nothing_light() {
    let options = Options { keyring: Keyring::Absent, notification_server: NotificationServer::Absent, ..Options::default() };
    play(Scene::set("a_dark_start_shows_nothing_light", &[], options).await, async |scene| {
        starts_dark(scene, "chosen", &["--theme", "dark"], None)?;
        starts_dark(scene, "of-the-system", &[], Some("Adwaita:dark"))
    })
    .await;
}

fn starts_dark(scene: &Scene, name: &str, arguments: &[&str], system: Option<&str>) -> Outcome {
    let frames = scene.desktop.frames()?;
    let profile = scene.folder.path().join(name);
    let mut command = scene.desktop.command(&scene.console_program);
    command.arg("--profile").arg(&profile).args(arguments).envs(system.map(|theme| ("GTK_THEME", theme)));
    let mut console = Process::start("vidimus", &mut command, &scene.desktop.logs().join(format!("dark-{name}.log")))?;
    let deadline = Instant::now() + SOON;
    let (mut looks, mut painted_at) = (0_u64, None);
    // A while longer than the first painted frame: a second one could still flash.
    while painted_at.is_none_or(|at: Instant| at.elapsed() < Duration::from_secs(1)) {
        for (x, y) in POINTS {
            let colour = frames.colour(x, y)?;
            check(colour.iter().all(|part| *part <= DARK_MAX), || {
                format!("{name}: at {x}, {y} the screen is {colour:02x?} after {looks} looks")
            })?;
        }
        looks += 1;
        if painted_at.is_none() && frames.colour(100, 400)? == PAINTED {
            painted_at = Some(Instant::now());
        }
        check(Instant::now() < deadline, || format!("{name}: the window was not painted"))?;
        std::thread::yield_now();
    }
    console.kill()?;
    scene.say(&format!("{name}: {looks} looks at the screen, and nothing light"));
    Ok(())
}
