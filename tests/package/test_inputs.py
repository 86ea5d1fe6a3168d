"""Settings of the component in the package stand beside the keys of a stack."""

import inspect

from components import InferenceStack
from models.stack import Stack
from package.inputs import SETTINGS

RESERVED = {"id", "urn", "name", "opts", "options", "version", "provider", "pulumi"}
"""Names that Pulumi's SDKs give to properties and arguments of every resource."""


def keys():
    return {field.alias or name for name, field in Stack.model_fields.items()}


def test_no_setting_has_the_name_of_a_key_or_of_pulumi():
    names = [setting.name for setting in SETTINGS]
    assert "services" in keys()
    assert len(names) == len({*names} - keys() - RESERVED)


def test_only_the_kubeconfig_is_a_secret_in_every_language():
    assert [setting.name for setting in SETTINGS if setting.secret] == ["kubeconfig"]


def test_every_setting_is_an_argument_of_the_component_in_python():
    arguments = inspect.signature(InferenceStack.__init__).parameters.keys() - {
        "self",
        "name",
        "tree",
        "opts",
        "problems",
    }
    assert arguments == {setting.argument or setting.name for setting in SETTINGS}
