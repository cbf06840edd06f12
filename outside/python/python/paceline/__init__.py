"""Parallel discrete-event simulation.

`run` runs a scenario of one of Paceline's models on every core:

>>> import paceline
>>> result = paceline.run("scenarios/phold.toml", {"run.until": "20s"})  # doctest: +SKIP
>>> result.digest  # doctest: +SKIP
'94aef0b7b3e1f3a2'

Tables of results go to any library of data frames: ``polars.DataFrame(result.tables["flows"])``. `replicate`,
`study`, `machine`, `compare`, `network` and `check` do what the commands of the program `paceline` do. `start` starts a
run that is advanced step by step.

`paceline.sim` has the interface of SimPy 4 for models of processes in Python:

>>> import paceline.sim as simpy
>>> env = simpy.Environment()
>>> def clock(env):
...     while True:
...         print(env.now)
...         yield env.timeout(1)
>>> process = env.process(clock(env))
>>> env.run(until=2)
0
1
"""

from paceline._model import ModelRun, helper, model, seconds
from paceline._model_context import Context, Rng
from paceline._model_errors import CompileError, HandlerError
from paceline._native import Table
from paceline._network import network
from paceline._program import RunError, ScenarioError
from paceline._run import Comparison, MachineRun, Replications, Run, check, compare, machine, replicate, resume, run
from paceline._stepped import StartedRun, start
from paceline._study import Study, study

__all__ = [
    "Comparison",
    "CompileError",
    "Context",
    "HandlerError",
    "MachineRun",
    "ModelRun",
    "Replications",
    "Rng",
    "Run",
    "RunError",
    "ScenarioError",
    "StartedRun",
    "Study",
    "Table",
    "check",
    "compare",
    "helper",
    "machine",
    "model",
    "network",
    "replicate",
    "resume",
    "run",
    "seconds",
    "start",
    "study",
]

# What people read in tracebacks: where they import it from.
for _kind in (Comparison, CompileError, Context, HandlerError, MachineRun, ModelRun, Replications, Rng, Run, RunError):
    _kind.__module__ = __name__
for _other in (ScenarioError, StartedRun, Study):
    _other.__module__ = __name__
