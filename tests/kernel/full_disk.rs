//! The disk of PostgreSQL is full: in a tablespace of the test's own, so that other tests have room.

use crate::{
    ledger::Command,
    support::{Node, World},
};
use porteiro::{actors::Failure, domain::Timestamp};
use std::{
    fmt::Write as _,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::Command as Process,
};

/// A file system in memory, which is gone with it.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Option<Self> {
        let mounted = Process::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m,mode=0755", "tmpfs"])
            .arg(folder)
            .output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        is_mounted.then(|| Self(folder.to_owned()))
    }

    fn grow(&self) {
        let options = ["-o", "remount,size=64m"];
        assert!(Process::new("mount").args(options).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The server may still have files of it open.
        let _ = Process::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_of_postgresql_refuses_changes_loses_nothing_and_serves_when_there_is_room() {
    let world = World::new().await;
    if !world.is_postgres() {
        println!("skipped: this is about the disk of PostgreSQL");
        return;
    }
    let mut stranger = world.stranger().await;
    let data = stranger.text("SELECT current_setting('data_directory')").await;
    // Beside the data, where the server's user may go.
    let schema = world.url.split("search_path%3D").nth(1).unwrap();
    let folder = Path::new(&data).parent().unwrap().join(schema);
    if std::fs::create_dir(&folder).is_err() {
        println!("skipped: {} cannot be made here", folder.display());
        return;
    }
    let Some(disk) = SmallDisk::mount(&folder) else {
        println!("skipped: a small file system cannot be mounted without privileges");
        return;
    };
    let owner = std::fs::metadata(&data).unwrap();
    chown(&folder, Some(owner.uid()), Some(owner.gid())).unwrap();
    let made = format!("CREATE TABLESPACE {schema} LOCATION '{}'", folder.display());
    stranger.run(made).await.unwrap();
    let url = format!("{}%20-cdefault_tablespace%3D{schema}", world.url);
    let node = Node::start(&world, &url).await;
    let (mut acknowledged, mut refused) = (Vec::new(), 0);
    for entry in 0..300 {
        // It is kept as it is: what repeats would be compressed.
        let mut text = String::new();
        for n in 0..3_000_u64 {
            let _ = write!(text, "{:x}", (n + entry) * 0x9E37_79B9);
        }
        let (topic, expires_at) = ("mail", Timestamp::FOREVER);
        match node.ledgers.ask("a", Command::AppendAndPost { entry, topic, text, expires_at }).await
        {
            Ok(_) => acknowledged.push(entry),
            Err(Failure::Unavailable) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
        if refused > 5 {
            break;
        }
    }
    assert!(refused > 5 && !acknowledged.is_empty(), "{refused} refused");
    assert_eq!(node.entries("a").await, acknowledged, "what was acknowledged is there and is read");
    disk.grow();
    node.append("a", 1_000).await.unwrap();
    acknowledged.push(1_000);
    assert_eq!(node.entries("a").await, acknowledged);
    node.stop().await;
    stranger.run(format!("DROP SCHEMA {schema} CASCADE")).await.unwrap();
    stranger.run(format!("DROP TABLESPACE {schema}")).await.unwrap();
}
