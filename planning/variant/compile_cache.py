"""Folder of the code that an engine compiles when it starts (`engine.compileCache`)."""

import hashlib
import json

from models.role import Role
from planning.ground.environment import EnvValue

VARIABLE = "VLLM_CACHE_ROOT"
"""Variable with the folder. vLLM keeps the files of torch and Triton there, too (vllm 0.26.0 to 0.32.0, envs.py, and
initialize_cache in compilation/compiler_interface.py)."""
_DIGITS = 12


def environment(role: Role, image: str | None) -> dict[str, EnvValue]:
    """Return the variable for the folder; empty without one. Rules reject a volume that the engine does not mount.

    vLLM names compiled code by its own version and the settings of the engine, but it names what it measures on
    devices by their numbers alone (vllm 0.26.0 to 0.32.0, compilation/backends.py, and
    distributed/device_communicators/all_reduce_utils.py). So each image and class of devices has its own folder.
    """
    volume = None
    if role.engine.compile_cache is not None:
        volume = role.pod.volumes.get(role.engine.compile_cache.volume)
    if volume is None:
        return {}
    text = json.dumps([image, role.accelerator])
    name = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return {VARIABLE: f"{volume.mount_path}/{name}"}
