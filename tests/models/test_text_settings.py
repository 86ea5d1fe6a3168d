"""Settings are found in texts of every kind, with the position of their value."""

import pytest

from models.text_settings import Setting, settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"token": "abc def"}', [("token", "abc def")]),
        ('{"token": ["abc"]}', [("token", "abc")]),
        ("token='abc'", [("token", "abc")]),
        ("--set token=abc,other=defg", [("token", "abc"), ("other", "defg")]),
        ("https://a.example/b?token=abc&key=defg", [("token", "abc"), ("key", "defg")]),
        ("- app.token: abcd\n", [("token", "abcd")]),
        ("token: |\n  abcd\n", [("token", "abcd")]),
        ("{a: {token: abcd}}", [("token", "abcd")]),
    ],
)
def test_settings_of_json_yaml_commands_and_urls_are_yielded(text, expected):
    assert [(setting.name, setting.value) for setting in settings(text)] == expected


@pytest.mark.parametrize("text", ["token=$(TOKEN)", "token=f(x)", "token=ab", "token: several words", "1token=abc", ""])
def test_references_calls_and_prose_are_no_settings(text):
    assert list(settings(text)) == []


def test_a_setting_knows_where_its_value_is():
    text = 'run --env token="abc"'
    assert list(settings(text)) == [Setting("token", "abc", 17)]
    (setting,) = settings(text)
    assert text[setting.start : setting.end] == "abc"


def test_a_value_may_have_settings_itself():
    found = {setting.name: setting.value for setting in settings("""{"command": "serve token='abc'"}""")}
    assert found == {"command": "serve token='abc'", "token": "abc"}
