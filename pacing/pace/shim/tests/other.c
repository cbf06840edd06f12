/*
 * A stand-in for an MPI library, as far as tests of the shim need one: its functions do nothing and return values that show that they
 * were called. It says that it is VERSION, by default a library that the shim does not support, and exports SETTING with VALUE.
 */
#include <string.h>

#ifndef VERSION
#define VERSION "Other MPI 7\nof another world"
#endif
#ifdef SETTING
char SETTING = VALUE;
#endif
/* Open MPI is recognized by it. */
int ompi_mpi_comm_world;

int PMPI_Get_library_version(char *version, int *length);
int PMPI_Init(int *count, char ***arguments);
int PMPI_Finalize(void);
int PMPI_Send(const void *data, int count, int type, int rank, int tag, int comm);
int MPI_Init(int *count, char ***arguments) __attribute__((weak, alias("PMPI_Init")));
int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));
int MPI_Send(const void *data, int count, int type, int rank, int tag, int comm) __attribute__((weak, alias("PMPI_Send")));

int PMPI_Get_library_version(char *version, int *length) {
    strcpy(version, VERSION);
    *length = (int)strlen(version);
    return 0;
}

int PMPI_Init(int *count, char ***arguments) {
    (void)count, (void)arguments;
    return 0;
}

int PMPI_Finalize(void) {
    return 5;
}

int PMPI_Send(const void *data, int count, int type, int rank, int tag, int comm) {
    (void)data;
    return count + type + rank + tag + comm;
}
