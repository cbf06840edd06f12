"""The commands of driver.c, done with outside/python/python/paceline/lvt.py."""

import os
import sys

import lvt as paceline_lvt


def fork_child(parents):
    child = os.fork()
    if child == 0:
        if parents.is_present:
            os._exit(1)
        parents.publish(1)
        parents.set_waiting(True)
        parents.publish_done()
        parents.close()
        own = paceline_lvt.Publisher.from_env("child")
        own.publish(7)
        os._exit(0 if own.is_present else 2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def answer(lvt, word, rest):
    if word == "fork":
        return fork_child(lvt)
    if word == "backwards":
        return lvt.backwards
    if word == "exec":
        os.execv(sys.executable, [sys.executable, *sys.argv])
    elif word == "lookahead":
        lvt.lookahead_ns = int(rest)
    elif word == "publish":
        lvt.publish(int(rest))
    elif word == "waiting":
        lvt.set_waiting(rest == "1")
    elif word == "simulation":
        lvt.set_simulation(rest == "1")
    else:
        {"done": lvt.publish_done, "close": lvt.close}[word]()
    return "ok"


lvt = paceline_lvt.Publisher()
# What follows a command is for the program that is executed then: nothing is read ahead.
commands = open(0, "rb", buffering=0)
while line := commands.readline().decode():
    word, _, rest = line.rstrip("\n").partition(" ")
    if word != "open":
        print(answer(lvt, word, rest), flush=True)
        continue
    try:
        lvt = paceline_lvt.Publisher.from_env(rest)
        print("present" if lvt.is_present else "absent", flush=True)
    except paceline_lvt.PageError as error:
        print("error", error, flush=True)
