"""Hands what `larmor sync` reads to the package wandb: a JSON object a line comes in, one answer a line goes out."""
import json
import os
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what wandb prints goes to the log of the sender


def answer(**words):
    answers.write(json.dumps(words) + "\n")
    answers.flush()


def begin(wandb, ask):
    settings = wandb.Settings(console="off", silent=True, disable_git=True, disable_code=True, x_disable_stats=True)
    run = wandb.init(id=ask["key"], resume="allow", dir=ask["folder"], project=ask["project"] or None,
                     entity=ask["entity"] or None, name=ask["name"], tags=ask["tags"] or None, mode=ask["mode"],
                     job_type=ask["stage"] or None, settings=settings)
    run.config.update(ask["config"], allow_val_change=True)
    run.define_metric("global_step")
    run.define_metric("*", step_metric="global_step")
    return run


def main():
    try:
        import wandb
    except ImportError as error:
        answer(refused=f"{sys.executable} has no package wandb: {error}")
        return
    run = None
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if ask["do"] == "begin":
                run = begin(wandb, ask)
                answer(place=run.url or run.dir)
                continue
            if ask["do"] == "log":
                for row in ask["rows"]:
                    run.log({name: float(value) for name, value in row.items()})
            elif ask["do"] == "picture":
                run.log({ask["name"]: wandb.Image(ask["file"]), "global_step": ask["step"]})
            elif ask["do"] == "end":
                run.finish(exit_code=ask["status"])
                run = None
            answer()
        except (wandb.errors.AuthenticationError, wandb.errors.UsageError) as error:
            answer(refused=str(error))
        except Exception as error:  # whatever it is, the sender tries again
            answer(failed=f"{type(error).__name__}: {error}")
    if run is not None:
        run.finish()


main()
