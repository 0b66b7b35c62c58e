//! A part of a core for a process: a control group of its own with a quota, of version 2 or of version 1.

use crate::{Outcome, process::Process};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Within how many microseconds a quota is used up.
const PERIOD: u32 = 100_000;

/// Where the kernel divides the time of the cores.
pub struct CpuHierarchy {
    place: PathBuf,
    version: Version,
    /// Groups were given the controller by us, and lose it with us.
    is_ours: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The group of one process, which goes with its guard once the process is gone.
pub struct CpuGroup {
    place: PathBuf,
    /// It outlives its groups.
    _hierarchy: Arc<CpuHierarchy>,
}

impl CpuHierarchy {
    /// Finds the hierarchy that has the controller of the cores; fails where there is none that we may use.
    pub fn find() -> Outcome<Arc<Self>> {
        let mounts = fs::read_to_string("/proc/mounts")?;
        for mount in mounts.lines() {
            let fields: Vec<&str> = mount.split(' ').collect();
            let [_, place, kind, options, ..] = fields[..] else { continue };
            let place = PathBuf::from(place);
            let version = match kind {
                "cgroup2" if lists(&place.join("cgroup.controllers"), "cpu")? => Version::Two,
                "cgroup" if options.split(',').any(|option| option == "cpu") => Version::One,
                _ => continue,
            };
            let given = place.join("cgroup.subtree_control");
            let is_ours = version == Version::Two && !lists(&given, "cpu")?;
            if is_ours {
                write(&given, "+cpu")?;
            }
            return Ok(Arc::new(Self { place, version, is_ours }));
        }
        Err("no control group with the controller `cpu` is mounted".into())
    }

    /// Lets a process use so many cores from now on, with all its threads.
    pub fn cap(self: &Arc<Self>, process: &Process, cores: f64) -> Outcome<CpuGroup> {
        let (id, quota) = (process.id(), f64::from(PERIOD) * cores);
        let place = self.place.join(format!("porteiro-bench-{id}"));
        fs::create_dir(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let group = CpuGroup { place, _hierarchy: self.clone() };
        match self.version {
            Version::Two => group.set("cpu.max", &format!("{quota:.0} {PERIOD}"))?,
            Version::One => {
                group.set("cpu.cfs_period_us", &PERIOD.to_string())?;
                group.set("cpu.cfs_quota_us", &format!("{quota:.0}"))?;
            }
        }
        group.set("cgroup.procs", &id.to_string())?;
        Ok(group)
    }
}

impl Drop for CpuHierarchy {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = write(&self.place.join("cgroup.subtree_control"), "-cpu");
        }
    }
}

impl CpuGroup {
    fn set(&self, name: &str, value: &str) -> Outcome<()> {
        write(&self.place.join(name), value)
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.place) {
            eprintln!("{} was left behind: {error}", self.place.display());
        }
    }
}

/// Tells whether a file of the kernel lists a word.
fn lists(file: &Path, word: &str) -> Outcome<bool> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.split_whitespace().any(|listed| listed == word))
}

fn write(file: &Path, value: &str) -> Outcome<()> {
    Ok(fs::write(file, value).map_err(|error| format!("{}: {error}", file.display()))?)
}
