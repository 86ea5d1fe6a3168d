"""Channel llm-d-0.6 against the objects that OtterScale's model-operator v1.0.1 makes for the same wishes.

`scenarios` renders our objects, `mapping` undoes our deviations one by one, `canonical` compares. Numbers and ids are
those of `docs/deviations.md`.
"""
