"""Preview, deploy, read and destroy a stack by Pulumi's Automation API; run it in a clone of this repository.

    .venv/bin/python examples/automation.py prod preview

The environment is that of `pulumi`: KUBECONFIG, PULUMI_BACKEND_URL, PULUMI_CONFIG_PASSPHRASE.
"""

import sys

from pulumi import automation

LOSSES = (automation.OpType.DELETE, automation.OpType.REPLACE)
"""Steps that a deployment without a person must not do."""


def preview(stack: automation.Stack) -> None:
    """Print how many resources each kind of step would change."""
    print(dict(stack.preview().change_summary))


def deploy(stack: automation.Stack) -> None:
    """Deploy, unless a preview would delete or replace something."""
    steps = stack.preview().change_summary
    losses = {step.value: steps[step] for step in LOSSES if step in steps}
    if losses:
        sys.exit(f"{stack.name}: the run would lose objects {losses}; look at `pulumi preview`, and run `pulumi up`")
    print(stack.up(show_secrets=False).summary.result)


def read(stack: automation.Stack) -> None:
    """Print where each service answers."""
    services = stack.outputs()["services"].value
    for name, service in services.items():
        print(name, *service["urls"], *service["paths"])


def destroy(stack: automation.Stack) -> None:
    """Delete everything that the stack has made."""
    print(stack.destroy().summary.result)


COMMANDS = {"preview": preview, "up": deploy, "outputs": read, "destroy": destroy}


def main(name: str, command: str) -> None:
    """Run one command on a stack of the program in the present folder."""
    try:
        COMMANDS[command](automation.create_or_select_stack(stack_name=name, work_dir="."))
    except automation.CommandError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
