/* A module of one function, which every processor can load: it tells which level of kernels to
 * import. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "processor_level.h"

static PyObject* level(PyObject* self, PyObject* arguments) {
    (void)self;
    (void)arguments;
    return PyLong_FromLong(processor_level());
}

static PyMethodDef methods[] = {
    {"level", level, METH_NOARGS,
     "The level of x86-64 that this processor has: 2, 3 or 4; 0 on other processors."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_processor", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__processor(void) {
    return PyModule_Create(&definition);
}
