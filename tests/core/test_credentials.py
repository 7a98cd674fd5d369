import pytest

from taut.core.credentials import hide_in, hide_passwords, refuse_password
from taut.core.errors import InputError

WITH_PASSWORD = (
    ("postgresql://u:hunter2@db:5432/x", "postgresql://u:***@db:5432/x"),
    ("--engine-url=postgres://u:hunter2@db", "--engine-url=postgres://u:***@db"),
    ("postgresql://u:hunter2/@:@db/x", "postgresql://u:***@db/x"),
    ("postgresql://:hunter2@db/x", "postgresql://:***@db/x"),
    ("postgresql://db/x?user=u&password=hunter2", "postgresql://db/x?user=u&password=***"),
    ("host=db password=hunter2 user=u", "host=db password=*** user=u"),
    ("password = 'hunter2 and\\'more' user=u", "password = *** user=u"),
    ("host=db PASSWORD=hunter2", "host=db PASSWORD=***"),
    ("sslpassword=hunter2", "sslpassword=***"),
    ("spark.authenticate.secret=hunter2", "spark.authenticate.secret=***"),
    ("agent --password hunter2 --on 3", "agent --password *** --on 3"),
    ("agent -x --db-Token 'hunter2 and more'", "agent -x --db-Token ***"),
    ('missing "=" after "mysql://u:hunter2@db"', 'missing "=" after "mysql://u:***@db"'),
)
WITHOUT = (
    "postgresql://u@db:5432/x",
    "postgresql://db:5432/x",
    "postgresql://u@/x?host=/tmp/a:b&passfile=/home/u/.pgpass",
    "spark://one:7077,two:7077",
    "local[*]",
    "runs/2026:11/a@b",
    "agent --password-file /etc/agent --token",
    "agent --token --on 3",
    "password authentication failed for user 'u'",
)


@pytest.mark.parametrize(("text", "hidden"), WITH_PASSWORD)
def test_a_password_is_blotted_out_and_the_rest_stays(text: str, hidden: str) -> None:
    assert hide_passwords(text) == hidden
    assert hide_passwords(hidden) == hidden


@pytest.mark.parametrize("text", WITHOUT)
def test_what_is_no_password_stays(text: str) -> None:
    assert hide_passwords(text) == text
    assert refuse_password(text) == text


@pytest.mark.parametrize("text", [text for text, _ in WITH_PASSWORD])
def test_a_password_on_the_command_line_is_refused_without_saying_it(text: str) -> None:
    with pytest.raises(InputError, match="from PGPASSWORD or") as caught:
        refuse_password(text)

    assert "hunter2" not in str(caught.value)


def test_no_url_is_no_password() -> None:
    assert refuse_password(None) is None


def test_a_password_is_blotted_out_wherever_it_stands() -> None:
    given = {"argv": ["x", {"password=a": "password=hunter2"}], "n": 1, "f": 0.5, "no": None}

    assert hide_in(given) == given | {"argv": ["x", {"password=a": "password=***"}]}
    assert hide_in(("token=hunter2", True)) == ("token=***", True)
    assert hide_in(["agent", "--password", "hunter2", "3"]) == ["agent", "--password", "***", "3"]
    assert hide_in(["--token", "-v", "--token"]) == ["--token", "-v", "--token"]
