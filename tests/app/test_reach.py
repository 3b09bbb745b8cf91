"""A machine reaches the folders a person allowed, and nothing beside them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from oniyanma import Session
from oniyanma.commands import build_registry
from oniyanma.reach import MachineReach, is_url
from oniyanma.registry import Actor
from oniyanma.scene.state import CloudEntry, Project, SceneState
from tests.app.scenes import AI, API

EMPTY = SceneState()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """allowed/, allowed/sub/, other/, a link from allowed to other, and files in all."""
    for name in ("allowed/sub", "other", "allowed-not"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("allowed/a.las", "allowed/sub/b.las", "other/c.las", "allowed-not/d.las"):
        (tmp_path / name).write_bytes(b"x")
    os.symlink(tmp_path / "other", tmp_path / "allowed" / "link")
    os.symlink(tmp_path / "other" / "c.las", tmp_path / "allowed" / "c.las")
    return tmp_path


def test_with_nothing_allowed_nothing_is_reached(place: Path) -> None:
    reach = MachineReach()
    for access in ("read", "write"):
        reason = reach.refusal(str(place / "allowed" / "a.las"), access, EMPTY)
        assert reason is not None and access in reason and "a.las" in reason


@pytest.mark.parametrize(
    ("path", "ok"),
    [
        ("allowed/a.las", True),
        ("allowed/new.las", True),
        ("allowed/sub/b.las", True),
        ("allowed", True),
        ("allowed/*.txt", True),
        ("allowed/sub/*.las", True),
        ("other/c.las", False),
        ("allowed-not/d.las", False),
        ("allowed/../other/c.las", False),
        ("allowed/link/c.las", False),
        ("allowed/c.las", False),
        ("allowed/*.las", False),  # one of them is a link to another folder
        ("allowed/li*/c.las", False),
        ("allowed/**/../../other/*.las", False),
        ("*/c.las", False),
        ("a*", False),
        ("", False),
        ("allowed/a\0.las", False),
    ],
)
def test_where_a_path_leads_decides(place: Path, path: str, ok: bool) -> None:
    reach = MachineReach(read=[place / "allowed"])
    reason = reach.refusal(str(place / path) if path else "", "read", EMPTY)
    assert (reason is None) is ok
    assert reach.refusal(str(place / path), "write", EMPTY) is not None


def test_what_may_be_written_may_be_read_and_not_the_reverse(place: Path) -> None:
    reach = MachineReach(write=[place / "allowed"])
    path = str(place / "allowed" / "out.laz")
    assert reach.refusal(path, "write", EMPTY) is None
    assert reach.refusal(path, "read", EMPTY) is None
    assert reach.refusal(str(place / "allowed" / "link" / "out.laz"), "write", EMPTY)
    reach.allow(place / "other", "read")
    assert reach.refusal(str(place / "other" / "c.las"), "read", EMPTY) is None
    assert reach.refusal(str(place / "other" / "c.las"), "write", EMPTY)
    assert reach.readable == tuple(sorted(map(str, (place / "allowed", place / "other"))))
    assert reach.writable == (str(place / "allowed"),)


def test_a_relative_path_is_taken_from_the_working_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place / "allowed")
    reach = MachineReach(read=["."])
    assert reach.refusal("a.las", "read", EMPTY) is None
    assert reach.refusal("../other/c.las", "read", EMPTY)
    assert reach.refusal("~/a.las", "read", EMPTY)


def test_the_folders_of_open_clouds_and_of_the_project_can_be_read(place: Path) -> None:
    clouds = (
        CloudEntry("c1", "a", str(place / "allowed" / "a.las")),
        CloudEntry("c2", "tiles", str(place / "allowed-not" / "*.las")),
        CloudEntry("c3", "web", "https://host.example/data/x.copc.laz"),
    )
    state = replace(EMPTY, clouds=clouds, project=Project(str(place / "other" / "p.oniyanma")))
    reach = MachineReach()
    for path in ("allowed/sub/b.las", "allowed-not/d.las", "other/c.las"):
        assert reach.refusal(str(place / path), "read", state) is None
        assert reach.refusal(str(place / path), "write", state)
    assert reach.refusal("https://host.example/data/y.copc.laz", "read", state) is None
    assert reach.refusal("https://host.example/y.copc.laz", "read", state)


@pytest.mark.parametrize(
    ("url", "ok"),
    [
        ("https://host.example/data/x.copc.laz", True),
        ("https://host.example/data/deep/x.copc.laz", True),
        ("https://host.example/data", True),
        ("http://host.example/data/x.copc.laz", False),
        ("https://host.example:8443/data/x.copc.laz", False),
        ("https://host.example/database/x.copc.laz", False),
        ("https://host.example/data/../secret", False),
        ("https://host.example/data/%2e%2e/secret", False),
        ("https://host.example@evil.example/data/x", False),
        ("https://evil.example/https://host.example/data/x", False),
        ("file:///etc/passwd", False),
    ],
)
def test_an_address_is_reached_only_below_an_allowed_one(url: str, ok: bool) -> None:
    assert is_url(url)
    reach = MachineReach(read=["https://host.example/data/"])
    assert (reach.refusal(url, "read", EMPTY) is None) is ok
    assert reach.refusal(url, "write", EMPTY)


def _with_paths() -> list[tuple[str, str, str]]:
    return [
        (command.name, key, sub["x-path"])
        for command in build_registry()
        for key, sub in command.input_schema["properties"].items()
        if "x-path" in sub
    ]


@pytest.mark.parametrize(("name", "key", "access"), _with_paths())
@pytest.mark.parametrize("actor", [AI, API], ids=lambda actor: actor.kind)
def test_each_path_a_command_takes_is_held_to_the_reach(
    place: Path, name: str, key: str, access: str, actor: Actor
) -> None:
    """outside what was allowed for that access: refused, and nothing was read or written."""
    readable = [place / "allowed"] if access == "write" else []
    with Session(inline_workers=True, allow_read=readable) as session:
        example = dict(session.registry[name].example)
        suffix = Path(str(example[key])).suffix
        for folder in ("allowed", "other"):
            path = place / folder / f"target{suffix}"
            answer = session.handle(actor).call(name, {**example, key: str(path)})
            assert answer["error"]["code"] == "refused", answer
            assert answer["error"]["argument"] == key and "person" in answer["error"]["message"]
            assert not path.exists()
        reading = session.handle(actor, "read").call(name, {**example, key: str(path)})
        assert reading["error"]["code"] == "surface_denied"
