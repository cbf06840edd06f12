"""Parallel discrete-event simulation.

`run` runs a scenario of one of Paceline's models on every core:

>>> import paceline
>>> result = paceline.run("scenarios/phold.toml", {"run.until": "20s"})  # doctest: +SKIP
>>> result.digest  # doctest: +SKIP
'94aef0b7b3e1f3a2'

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

from paceline._run import Run, RunError, ScenarioError, run

__all__ = ["Run", "RunError", "ScenarioError", "run"]
