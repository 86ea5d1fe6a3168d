"""Mutants of rules: each word of an expression that can be changed is changed, and nothing else."""

import pytest

from tests.support.prometheus.expressions import words, written
from tests.support.prometheus.mutants import mutants

EXPRESSIONS = (
    'sum by (pod) (rate(a{b="c", le=~"1(\\\\.0)?"}[5m])) / on (pod) group_left (d) max without (e) (f) > bool 0.5',
    'max_over_time((a != 1)[1h:5m] offset 1d) * 1000000 unless -(vector(0)) and on () b or absent(c{d!~"e"} offset 5m)',
    'label_replace(topk(3, engine:ttft), "a", "$1", "b", "(.*)") - ignoring (c) group_right () d',
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_words_of_an_expression_are_the_expression(expression):
    assert written(words(expression)) == expression


def test_each_operator_number_label_and_window_of_a_rule_is_changed_once():
    rule = {"alert": "A", "expr": 'sum by (b) (c{d="e"} offset 10m) > 0', "for": "4m", "labels": {"severity": "page"}}
    changed = {(mutant.rule["expr"], mutant.rule["for"], mutant.rule["labels"]["severity"]) for mutant in mutants(rule)}
    expressions = {
        'max by (b) (c{d="e"} offset 10m) > 0',
        'sum by (b_) (c{d="e"} offset 10m) > 0',
        'sum by (b) (c_{d="e"} offset 10m) > 0',
        'sum by (b) (c{d_="e"} offset 10m) > 0',
        "sum by (b) (c{} offset 10m) > 0",
        'sum by (b) (c{d!="e"} offset 10m) > 0',
        'sum by (b) (c{d="e_"} offset 10m) > 0',
        'sum by (b) (c{d="e"} offset 5m) > 0',
        'sum by (b) (c{d="e"} offset 20m) > 0',
        'sum by (b) (c{d="e"} offset 10m) >= 0',
        'sum by (b) (c{d="e"} offset 10m) < 0',
        'sum by (b) (c{d="e"} offset 10m) > 1',
    }
    others = {(rule["expr"], "2m", "page"), (rule["expr"], "8m", "page"), (rule["expr"], "4m", "page_")}
    assert changed == {(expression, "4m", "page") for expression in expressions} | others


def test_a_matcher_between_others_is_left_out_with_its_comma():
    changed = {mutant.rule["expr"] for mutant in mutants({"record": "a", "expr": 'x{a="1", b="2", c="3"}'})}
    assert changed >= {'x{b="2", c="3"}', 'x{a="1", c="3"}', 'x{a="1", b="2"}'}


def test_a_function_without_a_mutant_is_an_error():
    with pytest.raises(KeyError, match="histogram_stdvar"):
        mutants({"record": "a", "expr": "histogram_stdvar(b)"})
