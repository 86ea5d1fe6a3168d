"""Settings that need an endpoint picker have no effect on metered requests."""

from tests.support.stacks.varied_metering import metered, warnings


def test_a_picker_that_gets_no_requests_and_a_service_without_a_route_are_told():
    """See phoebe 7.4.

    See defects A26.
    """
    stack = metered(qwen={"endpointPicker": {"enabled": True}}, bert={"route": {"enabled": False}})
    messages = warnings(stack)
    assert [
        line for line in messages if line.startswith("services.qwen.endpointPicker: gets no requests of the gateway")
    ]
    assert [line for line in messages if line.startswith("services.bert.interceptor: has no route to the interceptor")]
