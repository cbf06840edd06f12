/*
 * Does with a publisher what it reads on its standard input, a command a line, and answers each with a line. The same
 * commands as in driver.py; what they are to do to the page is in ../languages.rs. Must be C99 and C++11.
 */
#include "paceline_lvt.h"

#include <inttypes.h>
#include <sys/wait.h>

/* A child that is forked has no publisher, and gets a slot of its own. */
static int fork_child(paceline_lvt *parents) {
    paceline_lvt own = PACELINE_LVT_ABSENT;
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (paceline_lvt_is_present(parents)) {
            _exit(1);
        }
        paceline_lvt_publish(parents, 1);
        paceline_lvt_set_waiting(parents, 1);
        paceline_lvt_publish_done(parents);
        paceline_lvt_close(parents);
        if (paceline_lvt_open(&own, "child") != 0 || !paceline_lvt_is_present(&own)) {
            _exit(2);
        }
        /* The slot is left to be taken back. */
        paceline_lvt_publish(&own, 7);
        _exit(0);
    }
    return child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

int main(int count, char **arguments) {
    paceline_lvt lvt = PACELINE_LVT_ABSENT;
    char line[256], word[32];
    (void)count;
    /* What follows a command is for the program that is executed then: nothing is read ahead. */
    setvbuf(stdin, NULL, _IONBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t number = 0;
        char *rest = strchr(line, ' ');
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%31s", word) != 1) {
            return 2;
        }
        rest = rest == NULL ? line + strlen(line) : rest + 1;
        number = strtoull(rest, NULL, 10);
        if (strcmp(word, "open") == 0) {
            if (paceline_lvt_open(&lvt, rest) != 0) {
                printf("error %s\n", lvt.error);
            } else {
                printf("%s\n", paceline_lvt_is_present(&lvt) ? "present" : "absent");
            }
        } else if (strcmp(word, "fork") == 0) {
            printf("%d\n", fork_child(&lvt));
        } else if (strcmp(word, "backwards") == 0) {
            printf("%" PRIu64 "\n", lvt.backwards);
        } else if (strcmp(word, "exec") == 0) {
            execl(arguments[0], arguments[0], (char *)NULL);
            return 3;
        } else {
            if (strcmp(word, "lookahead") == 0) {
                paceline_lvt_set_lookahead(&lvt, number);
            } else if (strcmp(word, "publish") == 0) {
                paceline_lvt_publish(&lvt, number);
            } else if (strcmp(word, "done") == 0) {
                paceline_lvt_publish_done(&lvt);
            } else if (strcmp(word, "waiting") == 0) {
                paceline_lvt_set_waiting(&lvt, number != 0);
            } else if (strcmp(word, "simulation") == 0) {
                paceline_lvt_set_simulation(&lvt, number != 0);
            } else if (strcmp(word, "close") == 0) {
                paceline_lvt_close(&lvt);
            } else {
                return 2;
            }
            printf("ok\n");
        }
        fflush(stdout);
    }
    return 0;
}
