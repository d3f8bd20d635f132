"""What the administration raises: the broker's errors, by name."""

import pytest

from tidegate import admin_results as ours


@pytest.mark.parametrize("name", ours.ERRORS)
def test_errors_are_known_by_the_brokers_names(name: str) -> None:
    error = ours.admin_error("why", name)
    assert (type(error), str(error), error.error) == (ours.ERRORS[name], "why", name)


def test_another_error_is_an_admin_error_that_names_it() -> None:
    error = ours.admin_error("the disk is full", "StorageError")
    assert (type(error), error.error) == (ours.AdminError, "StorageError")
