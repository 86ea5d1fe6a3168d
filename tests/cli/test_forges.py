"""One comment for each environment, on a server that pages at 30, as GitHub's and GitLab's APIs do."""

import pytest

from cli import comment
from cli.forges import ForgeError
from tests.support.traffic.forge import ACCOUNT, STRANGER, TOKEN, forge


@pytest.fixture(params=[False, True], ids=["github", "gitlab"])
def server(request):
    with forge(gitlab=request.param) as found:
        yield found


@pytest.fixture
def publish(server, tmp_path):
    def run(text, environment="prod"):
        (tmp_path / "report.md").write_text(text, encoding="utf-8")
        comment.publish(environment, str(tmp_path / "report.md"), server.variables)
        return server.comments

    return run


def test_the_31st_comment_makes_no_second_report(server, publish):
    server.comments = {number: f"talk {number}" for number in range(1, 31)}
    assert publish("### one\n")[31] == "<!-- inference-stacks report: prod -->\n### one\n"
    assert publish("### two\n")[31].endswith("### two\n")
    assert len(server.comments) == 31


def test_each_environment_has_a_comment(server, publish):
    publish("### prod\n")
    publish("### dev\n", "dev")
    publish("### production\n", "production")
    publish("### prod again\n")
    assert [body.partition("\n")[2] for body in server.comments.values()] == [
        "### prod again\n",
        "### dev\n",
        "### production\n",
    ]


def test_a_report_that_says_the_same_is_not_written_again(server, publish):
    publish("### one\n")
    server.requests.clear()
    publish("### one\n")
    question = next(request for request, (status, _) in server.questions.items() if status == 200)
    assert server.requests == [question, ("GET", server.list)]


def test_a_quoted_mark_is_no_report(server, publish):
    server.comments = {1: "> <!-- inference-stacks report: prod -->\n> ### one"}
    assert len(publish("### one\n")) == 2


def test_a_comment_of_somebody_else_is_left_alone_whatever_it_begins_with(server, publish):
    """See defects H7."""
    bait = "<!-- inference-stacks report: prod -->\n### prod · nothing changes\n"
    server.comments = {1: bait, 2: bait}
    server.authors = {1: STRANGER, 2: None}
    publish("### one\n")
    publish("### two\n")
    assert server.comments == {1: bait, 2: bait, 3: "<!-- inference-stacks report: prod -->\n### two\n"}
    server.authors[1] = ACCOUNT
    publish("### three\n")
    assert server.comments[1].endswith("### three\n"), "negative control: an own comment is replaced"


@pytest.mark.parametrize("answer", [{}, [], {"id": "7"}, {"data": None, "errors": []}, {"data": {"viewer": []}}])
def test_without_the_account_of_the_token_nothing_is_published(server, publish, answer):
    server.questions = dict.fromkeys(server.questions, (200, answer))
    with pytest.raises(ForgeError, match="did not say which account the token belongs to"):
        publish("### one\n")
    assert server.comments == {}


def test_graphql_is_beside_the_api_of_the_same_server():
    """GitHub Enterprise Server has its APIs at /api/v3 and /api/graphql."""
    with forge(gitlab=False) as server:
        root = f"{server.variables['GITHUB_API_URL']}/api"
        server.questions = {("POST", "/api/graphql"): (200, {"data": {"viewer": {"databaseId": ACCOUNT}}})}
        assert comment.forge(server.variables | {"GITHUB_API_URL": f"{root}/v3"}).account() == ACCOUNT


@pytest.mark.parametrize("report", ["### one\n" + "- `x` line\n" * 20_000, "x" * 70_000, "- `x` 漢字\n" * 8_000])
def test_a_comment_stays_below_the_limits_of_forges_and_says_what_is_cut(server, publish, report):
    """See defects H7."""
    (body,) = publish(report).values()
    assert len(body.encode()) <= 65_536
    begin, _, notice = body.rpartition("The report is cut here: ")
    lines = report.rstrip("\n").split("\n")
    assert int(notice.removesuffix(" more lines.\n")) + sum(line in lines for line in begin.split("\n")) == len(lines)


def test_a_refusal_is_said_without_the_token(server, publish):
    server.status = 403
    with pytest.raises(ForgeError, match=r"(GET|POST) .*: the forge answered 403$") as error:
        publish("### one\n")
    assert TOKEN not in str(error.value)


def test_a_page_on_another_host_gets_no_token(server, publish):
    server.comments = dict.fromkeys(range(1, 40), "talk")
    server.elsewhere = "http://127.0.0.2:1"
    with pytest.raises(ForgeError, match="is on another host"):
        publish("### one\n")


def test_a_forge_that_does_not_answer_is_named(tmp_path):
    (tmp_path / "report.md").write_text("x", encoding="utf-8")
    variables = {"GITHUB_API_URL": "http://127.0.0.1:1", "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "a/b"}
    with pytest.raises(ForgeError, match="no answer"):
        comment.publish("prod", str(tmp_path / "report.md"), variables | {"GITHUB_REF": "refs/pull/7/merge"})
