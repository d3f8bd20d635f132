"""Where the broker is: options over variables over profiles over defaults."""

from pathlib import Path

import pytest

from tools.cli.errors import UsageMistake
from tools.cli.profiles import DEFAULT_BOOTSTRAP, config_file, load, with_options

FILE = """
default = "local"

[profiles.local]
bootstrap = "127.0.0.1:1111"

[profiles.production]
bootstrap = "kafka-1:9093,kafka-2:9093"
http = "https://tidegate.example.org"
security_protocol = "SASL_SSL"
sasl_mechanism = "SCRAM-SHA-512"
sasl_username = "tools"
sasl_password_file = "password.txt"
ssl_cafile = "ca.pem"
timeout_s = 30
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "cli.toml").write_text(FILE)
    (tmp_path / "password.txt").write_text("secret\n")
    return {"TIDEGATE_CLI_CONFIG": str(tmp_path / "cli.toml")}


def test_without_anything_it_is_this_machine(tmp_path: Path) -> None:
    profile = load(None, {"HOME": str(tmp_path)})
    assert (profile.bootstrap, profile.names_bootstrap) == (DEFAULT_BOOTSTRAP, False)
    assert profile.http is None, "the broker is asked for its door"


def test_it_is_known_whether_somebody_named_the_broker(environment: dict[str, str], tmp_path: Path) -> None:
    nothing = {"HOME": str(tmp_path)}
    assert load(None, environment).names_bootstrap, "by a profile"
    assert load(None, {**nothing, "TIDEGATE_CLI_BOOTSTRAP": DEFAULT_BOOTSTRAP}).names_bootstrap, "by a variable"
    assert with_options(load(None, nothing), bootstrap=DEFAULT_BOOTSTRAP).names_bootstrap, "by an option"


def test_the_file_lies_where_configuration_does() -> None:
    assert config_file({"HOME": "/h"}) == Path("/h/.config/tidegate/cli.toml")
    assert config_file({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}) == Path("/x/tidegate/cli.toml")


def test_a_profile_is_chosen_by_name_or_by_default(environment: dict[str, str], tmp_path: Path) -> None:
    assert load(None, environment).bootstrap == "127.0.0.1:1111"
    chosen = load("production", environment)
    assert chosen == load(None, environment | {"TIDEGATE_CLI_PROFILE": "production"})
    assert (chosen.sasl_password, chosen.timeout_s) == ("secret", 30)
    assert chosen.ssl_cafile == str(tmp_path / "ca.pem"), "beside the file"
    assert "secret" not in repr(chosen)


def test_an_option_goes_before_a_variable_and_that_before_the_profile(environment: dict[str, str]) -> None:
    profile = load(None, environment | {"TIDEGATE_CLI_BOOTSTRAP": "10.0.0.1:9092", "TIDEGATE_CLI_TIMEOUT_S": "3"})
    assert (profile.bootstrap, profile.timeout_s) == ("10.0.0.1:9092", 3)
    assert with_options(profile, bootstrap="[::1]:9092", http=None).bootstrap == "[::1]:9092"


def test_the_brokers_own_token_serves_its_caller(environment: dict[str, str]) -> None:
    assert load(None, environment | {"TIDEGATE_HTTP_TOKEN": "t"}).token == "t"
    assert load(None, environment | {"TIDEGATE_HTTP_TOKEN": "t", "TIDEGATE_CLI_TOKEN": "u"}).token == "u"


@pytest.mark.parametrize(
    ("name", "variables", "said"),
    [
        ("staging", {}, "no profile 'staging'"),
        (None, {"TIDEGATE_CLI_BOOTSTRAP": "nowhere"}, "no address of a broker"),
        (None, {"TIDEGATE_CLI_BOOTSTRAP": "host:99999"}, "no address of a broker"),
        (None, {"TIDEGATE_CLI_HTTP": "localhost:8080"}, "no address of an operations door"),
        (None, {"TIDEGATE_CLI_TIMEOUT_S": "soon"}, "TIMEOUT_S is 'soon'"),
        (None, {"TIDEGATE_CLI_TIMEOUT_S": "0"}, "a timeout of 0"),
        (None, {"TIDEGATE_CLI_SECURITY_PROTOCOL": "TLS"}, "security_protocol cannot be 'TLS'"),
        (None, {"TIDEGATE_CLI_SECURITY_PROTOCOL": "SASL_SSL"}, "needs sasl_username and sasl_password"),
        ("production", {"TIDEGATE_CLI_SASL_MECHANISM": "MAGIC"}, "sasl_mechanism cannot be 'MAGIC'"),
    ],
)
def test_what_cannot_be_is_told(
    environment: dict[str, str], name: str | None, variables: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageMistake, match=said):
        load(name, environment | variables)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no toml", "cannot be read"),
        ('default = "a"\n[profiles.a]\nbootstap = "x:1"', "unknown key 'bootstap'"),
        ('default = "a"\n[profiles.a]\ntimeout_s = "x"', "timeout_s of profile 'a' cannot be 'x'"),
        ('default = "a"\n[profiles.a]\ntoken_file = "gone"', "cannot be read"),
    ],
)
def test_what_is_wrong_in_the_file_is_told(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "cli.toml").write_text(content)
    with pytest.raises(UsageMistake, match=said):
        load(None, {"TIDEGATE_CLI_CONFIG": str(tmp_path / "cli.toml")})


def test_a_profile_needs_its_file(tmp_path: Path) -> None:
    with pytest.raises(UsageMistake, match="there is no file"):
        load("production", {"TIDEGATE_CLI_CONFIG": str(tmp_path / "none.toml")})
