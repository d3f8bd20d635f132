/* Stepping over what was written with an Avro schema, compiled: what the code of `skipping.py` does, at some nanoseconds
 * for each value.
 *
 * The bytes come from clients: nothing is read outside of the payload. What leads over it is a program that
 * `stepping.py` makes of a type; its numbers are minded, too. Every step but a call takes a byte at least, and calls lie
 * no deeper than types do, so the work is bounded by the payload. The Python form is the reference: a property test
 * compares the two. VERSION is raised with every change of what is answered or how programs are written.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define VERSION 1
#define LONGEST_VARINT 10
#define MOST_CALLS 1000

enum { END, SKIP, BOOLEAN, INT, LONG, BYTES, STRING, ENUM, UNION, BLOCKS, CALL };

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    const int32_t *program;
    Py_ssize_t length;
    int calls;
} walk;

/* A number as it is written, sign in the last bit; 0 if it does not end, or has more than 64 bits. */
static int long_number(walk *on, uint64_t *raw)
{
    int place;
    *raw = 0;
    for (place = 0; place < LONGEST_VARINT && on->at < on->end; place++) {
        uint8_t byte = *on->at++;
        *raw |= (uint64_t)(byte & 0x7f) << (7 * place);
        if (byte < 0x80)
            return place < LONGEST_VARINT - 1 || byte <= 1;
    }
    return 0;
}

static inline int number(walk *on, uint64_t *raw)
{
    if (on->at < on->end && *on->at < 0x80) {
        *raw = *on->at++;
        return 1;
    }
    return long_number(on, raw);
}

/* Passes over a number of any value. */
static inline int pass_number(walk *on)
{
    int place;
    for (place = 0; place < LONGEST_VARINT && on->at < on->end; place++)
        if (*on->at++ < 0x80)
            return 1;
    return 0;
}

static int is_ascii(const uint8_t *at, const uint8_t *end)
{
    uint64_t eight;
    for (; end - at >= 8; at += 8) {
        memcpy(&eight, at, 8);
        if (eight & 0x8080808080808080u)
            return 0;
    }
    for (; at < end; at++)
        if (*at >= 0x80)
            return 0;
    return 1;
}

/* Whether Python reads it as UTF-8. */
static int is_text(const uint8_t *at, const uint8_t *end)
{
    PyObject *text;
    if (is_ascii(at, end))
        return 1;
    text = PyUnicode_DecodeUTF8((const char *)at, end - at, "strict");
    if (text == NULL)
        PyErr_Clear();
    Py_XDECREF(text);
    return text != NULL;
}

static int step(walk *on, Py_ssize_t place);

/* Items in blocks, each with their number in front; with a minus it is followed by the block's size in bytes. */
static int blocks(walk *on, Py_ssize_t item)
{
    uint64_t raw, count;
    for (;;) {
        if (!number(on, &raw))
            return 0;
        if (raw == 0)
            return 1;
        count = (raw >> 1) + (raw & 1);
        if ((raw & 1) && !pass_number(on))
            return 0;
        /* An item has a byte at least. */
        if (count > (uint64_t)(on->end - on->at) || item < 0)
            return 0;
        for (; count > 0; count--)
            if (!step(on, item))
                return 0;
    }
}

/* One instruction; `place` is that of its operands, and then of the next instruction. 0 where the bytes are odd. */
static inline int instruction(walk *on, int32_t kind, int32_t operand, Py_ssize_t *place)
{
    uint64_t raw;
    const uint8_t *begin;
    switch (kind) {
    case SKIP:
        ++*place;
        if (operand < 0 || operand > on->end - on->at)
            return 0;
        on->at += operand;
        return 1;
    case BOOLEAN:
        return on->at < on->end && *on->at++ <= 1;
    case INT:
        return number(on, &raw) && raw >> 32 == 0;
    case LONG:
        return pass_number(on);
    case BYTES:
    case STRING:
        if (!number(on, &raw) || raw & 1 || raw >> 1 > (uint64_t)(on->end - on->at))
            return 0;
        begin = on->at;
        on->at += raw >> 1;
        return kind == BYTES || is_text(begin, on->at);
    case ENUM:
        ++*place;
        return number(on, &raw) && !(raw & 1) && raw >> 1 < (uint64_t)operand;
    case UNION:
        /* Its operands are the number of branches and where each begins; less than 0 is one of no bytes. */
        *place += 1 + (Py_ssize_t)operand;
        if (operand < 0 || *place > on->length)
            return 0;
        if (!number(on, &raw) || raw & 1 || raw >> 1 >= (uint64_t)operand)
            return 0;
        operand = on->program[*place - operand + (Py_ssize_t)(raw >> 1)];
        return operand < 0 || step(on, operand);
    case BLOCKS:
        ++*place;
        return blocks(on, operand);
    case CALL:
        ++*place;
        return step(on, operand);
    }
    return 0;
}

/* From a place of the program to the END that follows, behind which there is one more number. */
static int step(walk *on, Py_ssize_t place)
{
    int is_sound = 0;
    if (++on->calls > MOST_CALLS)
        return 0;
    while (place >= 0 && place + 1 < on->length) {
        int32_t kind = on->program[place++];
        if (kind == END) {
            is_sound = 1;
            break;
        }
        if (!instruction(on, kind, on->program[place], &place))
            break;
    }
    on->calls--;
    return is_sound;
}

PyDoc_STRVAR(is_sound_doc, "is_sound(program, payload) -> whether the program leads to just the end of the payload.");

static PyObject *is_sound(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer program, payload;
    walk on;
    int found;
    (void)module;
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "is_sound takes a program and a payload");
        return NULL;
    }
    if (PyObject_GetBuffer(arguments[0], &program, PyBUF_SIMPLE) < 0)
        return NULL;
    if (PyObject_GetBuffer(arguments[1], &payload, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&program);
        return NULL;
    }
    on.at = payload.buf;
    on.end = on.at + payload.len;
    on.program = program.buf;
    on.length = program.len / (Py_ssize_t)sizeof(int32_t);
    on.calls = 0;
    found = step(&on, 0) && on.at == on.end;
    PyBuffer_Release(&payload);
    PyBuffer_Release(&program);
    return PyBool_FromLong(found);
}

static PyMethodDef methods[] = {
    {"is_sound", (PyCFunction)(void (*)(void))is_sound, METH_FASTCALL, is_sound_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_stepping", "Stepping over Avro, compiled.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__stepping(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "VERSION", VERSION) < 0)
        Py_CLEAR(module);
    return module;
}
