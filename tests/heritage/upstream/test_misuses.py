"""What upstream lets one do wrong: each misuse is refused, impossible, or told where it still works.

| Upstream | Misuse | Shown by |
|---|---|---|
| pool | a flat selector, or an API version that is gone | `test_a_pool_is_of_the_stable_api_and_selects_by_labels` |
| pool | a selector for each role | `test_no_pool_selects_one_role_alone` |
| pool | several targetPorts | `test_a_pool_has_one_port_which_its_pods_listen_on` |
| pool | no picker, or a picker without a port | `test_every_pool_names_the_service_and_port_of_its_picker` |
| pool | `FailClosed` | `test_a_failure_mode_is_spelt_as_the_pool_takes_it` |
| pool | FailOpen by default | `test_requests_go_past_a_picker_only_for_a_reason` |
| pool | a route to a port that the pool has not | `test_a_route_names_no_port_of_a_pool` |
| pool | a cluster that serves the old API alone | `test_a_cluster_with_the_old_pool_alone_is_told` |
| pool | both API groups | `test_one_api_group_is_read` |
| gateway | no DestinationRule, a fixed cluster domain | `test_istio_is_told_where_a_picker_speaks_tls` |
| gateway | route timeouts on GKE, its own health path | `test_gke_gets_policies_and_no_timeouts_on_routes` |
| picker | the tags `latest` and `main` | `test_an_image_that_moves_is_refused` |
| picker | mixed release lines | `test_images_of_two_lines_are_refused` |
| picker | a boolean as two tokens | `test_every_flag_is_one_token` |
| picker | flags that end the picker | `test_a_flag_that_ends_the_picker_is_refused` |
| picker | another pool group, election or endpoint selector | `test_what_objects_have_to_agree_about_is_no_flag` |
| picker | liveness by a name that means leadership | `test_probes_ask_for_names_that_a_standby_answers` |
| picker | the pool made after its picker | `test_the_pool_comes_first_and_goes_last` |
| picker | a pool that is renamed in its place | `test_a_pool_of_another_name_has_a_picker_of_another_name` |
| picker | an h2c parser without appProtocol | `test_a_parser_of_one_protocol_is_said_on_the_pool_or_refused` |
| picker | a grace below the drain | `test_a_picker_outlives_its_requests` |
| picker | no requests | `test_a_picker_asks_for_what_it_needs` |
| picker | token reviews in a Role | `test_token_reviews_are_allowed_in_the_whole_cluster` |
| picker | a scraper without rights | `test_who_scrapes_may_get_metrics` |
| picker | one name for every metrics Secret | `test_no_two_services_share_a_secret` |
| picker | a wait for all of several pickers, or for none | `test_several_pickers_are_waited_for_as_they_become_ready` |
| picker | several active pickers with a prefix cache each | `test_several_pickers_always_elect` |
| configuration | no checksum on the pods | `test_another_configuration_is_another_pod` |
| configuration | apiVersion of another line | `test_the_api_version_follows_from_the_line` |
| configuration | feature gates that are gone | `test_a_gate_that_is_gone_is_refused` |
| configuration | keys of a newer or an older API | `test_a_key_of_another_api_is_refused` |
| configuration | deprecated keys | `test_a_deprecated_key_is_told` |
| configuration | unknown plugin parameters | `test_an_unknown_parameter_is_refused` |
| configuration | a TTL below the cold start | `test_requests_that_give_up_before_a_pod_wakes_are_told` |
| configuration | scale to zero without a queue | `test_nothing_sleeps_that_nothing_wakes` |
| configuration | an alpha plugin without its flag | `test_an_alpha_plugin_brings_its_flag` |
| configuration | plugins that are gone or misspelt | `test_a_plugin_that_is_not_registered_is_refused` |
| configuration | deprecated plugins | `test_a_deprecated_plugin_is_told` |
| configuration | the tokenizer over a socket | `test_a_tokenizer_that_nobody_serves_is_refused` |
| configuration | `data-parallel-profile-handler` | `test_the_handler_of_several_ports_is_refused` |
| configuration | another block size than the engine's | `test_block_sizes_agree` |
| configuration | a handler before its decider | `test_a_decider_stands_where_its_handler_finds_it` |
| sidecar | a plain container, or one beside prefill | `test_the_sidecar_is_a_native_one_of_decode_pods_alone` |
| sidecar | flags that are gone | `test_the_sidecar_has_no_flag_that_its_line_has_not` |
| sidecar | TLS towards a gateway that speaks plain HTTP | `test_the_sidecar_serves_what_the_gateway_speaks` |
| sidecar | SSRF protection without rights or for another group | `test_the_sidecar_may_read_the_pool_that_it_is_told` |
| engine | roles whose connectors differ | `test_both_roles_have_one_connector` |
| engine | a connector that the engine has not | `test_a_connector_that_a_line_has_not_is_refused` |
| engine | block sizes that differ between roles | `test_both_roles_have_one_block_size` |
| engine | no address for the side channel, idle connections cut | `test_prefill_is_found_and_keeps_its_connections` |
| engine | KV events without the pod's address | `test_engines_publish_under_their_own_address` |
| engine | no writable home under a restricted user | `test_an_engine_may_write_where_it_has_to` |
| engine | no shared memory | `test_ranks_of_an_engine_share_memory` |
| engine | killed before it has drained | `test_an_engine_drains_before_it_is_killed` |
| engine | metrics by their old names | `test_metrics_have_their_present_names` |
| engine | an incompatible version in the same pool | `test_an_incompatible_version_has_a_pool_of_its_own` |
| engine | an HPA beside a ScaledObject | `test_a_workload_has_one_autoscaler` |
| engine | `both` and other roles of old | `test_a_pod_has_one_of_two_roles` |
"""

import re
from pathlib import Path


def test_the_table_is_of_what_is_here():
    rows = re.findall(r"^\| (\w+) \|.*`(test_\w+)`", __doc__, re.MULTILINE)
    assert len(rows) == len(re.findall(r"`test_\w+`", __doc__))
    parts = {path.stem.removeprefix("test_"): path for path in Path("tests/heritage/upstream").glob("test_*.py")}
    del parts["misuses"]
    assert {*parts} == {part for part, _ in rows}
    here = [
        (part, name)
        for part in dict.fromkeys(part for part, _ in rows)
        for name in re.findall(r"^def (test_\w+)", parts[part].read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert rows == here
