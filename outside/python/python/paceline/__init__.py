"""Parallel discrete-event simulation.

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
