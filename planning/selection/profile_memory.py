"""Fit of serving profiles: the memory that the model of a profile needs on the profile's devices."""

from models.profile import Profile
from models.role import Engine
from models.service import Model
from planning.fit import memory, served
from planning.fit.memory import Devices, Fit
from planning.fit.served import ServedModel
from planning.ground.cluster_facts import Unknown
from planning.hardware.accelerators import AcceleratorClass


def fit(
    profile: Profile, accelerator: AcceleratorClass | None, model: Model | None = None, engine: Engine | None = None
) -> Fit | Unknown:
    """Return the memory that the model of a profile needs on each device, or why that memory is unknown.

    `model` and `engine` replace the profile's model and engine.
    """
    service = profile.service
    named_model = service.model if model is None else model
    if accelerator is None or accelerator.memory is None or accelerator.allocation is None:
        return Unknown("the memory of its devices is unknown")
    if service.model.source is None:
        return Unknown("the source of its weights is unknown")
    layout = service.parallelism
    settings = service.engine if engine is None else engine
    request = served.request(
        ServedModel(
            model=named_model,
            engine=settings,
            devices=Devices(accelerator.vendor, accelerator.product, accelerator.memory),
            tensor=layout.tensor or max(1, profile.device_count // (layout.pipeline * layout.data)),
            pipeline=layout.pipeline,
            data=layout.data,
            expert=layout.expert,
            utilization=settings.gpu_memory_utilization,
            block=service.kv_cache.tokens_per_block,
        )
    )
    return request if isinstance(request, Unknown) else memory.fits(request)
