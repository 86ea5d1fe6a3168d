"""Command line of this project: commands that need no run of Pulumi's engine, such as `render`, `lock` and `lint`."""
