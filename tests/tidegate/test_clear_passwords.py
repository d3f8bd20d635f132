"""Whose passwords are checked when: who comes from a network of many addresses has one turn as any other."""

import os
from pathlib import Path

import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from coordinators.access.fair_lock import FairLock
from coordinators.access.password_file import PasswordFile, PasswordHash, format_users
from engine.workers import InlineWorkers
from tidegate.clear_passwords import ClearPasswords


@trio_test
async def test_who_guesses_from_many_addresses_of_a_network_waits_for_one_turn(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(format_users({"alice": PasswordHash.of("one", os.urandom)}))
    file, lock, answered = PasswordFile(str(users), os.urandom(32)), FairLock(), list[str]()
    file.load()
    passwords = ClearPasswords(None, InlineWorkers(), lock)  # type: ignore[arg-type]

    async def ask(address: str, password: str) -> None:
        await passwords.is_in_file(file, "alice", password, address)
        answered.append(password)

    async with trio.open_nursery() as nursery, lock.held("somebody"):
        for number in range(1, 7):
            nursery.start_soon(ask, f"2001:db8::{number}", "guess")
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, "10.0.0.7", "one")
        await wait_all_tasks_blocked()
    assert answered.index("one") <= 1
