"""Stages of a request."""

from models.service import Service
from planning.ground import stages
from planning.ground.stages import STAGES


def test_one_stage_gets_the_requests_of_clients_and_its_keys_are_those_of_the_service():
    destinations = [stage for stage in STAGES.values() if stage.is_destination]
    assert destinations == [stages.DECODE] == [stage for stage in STAGES.values() if not stage.key]


def test_every_other_stage_has_a_key_in_the_service():
    assert {stage.key for stage in STAGES.values() if stage.key} <= Service.model_fields.keys()
