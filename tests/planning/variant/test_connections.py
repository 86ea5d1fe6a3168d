from planning.variant import connections


def test_an_engine_keeps_a_connection_longer_than_each_of_its_clients():
    sidecar = connections.keep_alive_seconds(connections.SIDECAR)
    assert 30 < sidecar <= connections.keep_alive_seconds("a client that nobody knows")
    assert connections.keep_alive_seconds(None) == connections.keep_alive_seconds("a client that nobody knows")
