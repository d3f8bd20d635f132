/* The walk over a batch's records, compiled: what `engine/records/walk.py` does, at some ten nanoseconds per record.
 *
 * The bytes come from clients. Nothing is read outside of the section, nothing is allocated but the answer. The Python
 * form is the reference: a property test compares the two. VERSION is raised with every change of what is answered, so
 * that an old shared object is not taken for this one.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define VERSION 4
/* From here on other threads may run meanwhile. */
#define LONG_BYTES 65536

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} span;

/* A zigzag number of several bytes; 0 if it does not end within the span, or has more bits. */
static int long_number(span *rest, int bits, int64_t *value)
{
    uint64_t raw = 0;
    int shift = 0;
    for (;;) {
        uint8_t byte;
        if (rest->at >= rest->end)
            return 0;
        byte = *rest->at++;
        if (shift + 7 > bits && (byte & 0x7f) >> (bits - shift))
            return 0;
        raw |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
        shift += 7;
        if (shift >= bits)
            return 0;
    }
    *value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    return 1;
}

/* A zigzag number. Nearly all of them take one byte, most others two. */
static inline int number(span *rest, int bits, int64_t *value)
{
    const uint8_t *at = rest->at;
    uint64_t raw;
    if (rest->end - at < 2)
        return long_number(rest, bits, value);
    raw = at[0];
    if (raw < 0x80) {
        rest->at = at + 1;
    } else if (at[1] < 0x80) {
        raw = (raw & 0x7f) | (uint64_t)at[1] << 7;
        rest->at = at + 2;
    } else {
        return long_number(rest, bits, value);
    }
    *value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    return 1;
}

/* Passes over a field of bytes, of which it tells the size; a null one has the size -1. */
static inline int field(span *rest, int may_be_null, int64_t *size)
{
    if (!number(rest, 32, size))
        return 0;
    if (*size < 0)
        return may_be_null && *size == -1;
    if (*size > rest->end - rest->at)
        return 0;
    rest->at += *size;
    return 1;
}

/* What a record has: sizes are -1 where there is nothing. */
typedef struct {
    int64_t key_size;
    int64_t value_size;
    const uint8_t *key;
    const uint8_t *value;
} parts;

/* Passes over one record, which must be the one of this index. */
static inline int record(span *section, int64_t index, parts *found)
{
    int64_t size, timestamp_delta, offset_delta, headers;
    span rest;
    if (!number(section, 32, &size) || size <= 0 || size > section->end - section->at)
        return 0;
    rest.at = section->at + 1;
    rest.end = section->at + size;
    if (!number(&rest, 64, &timestamp_delta) || !number(&rest, 32, &offset_delta) || offset_delta != index)
        return 0;
    if (!field(&rest, 1, &found->key_size))
        return 0;
    found->key = rest.at - (found->key_size > 0 ? found->key_size : 0);
    if (!field(&rest, 1, &found->value_size))
        return 0;
    found->value = rest.at - (found->value_size > 0 ? found->value_size : 0);
    if (!number(&rest, 32, &headers) || headers < 0 || headers > rest.end - rest.at)
        return 0;
    for (; headers > 0; headers--)
        if (!field(&rest, 0, &size) || !field(&rest, 1, &size))
            return 0;
    if (rest.at != rest.end)
        return 0;
    section->at = rest.end;
    return 1;
}

/* How many records from the start are sound; `section` is left where the first unsound thing begins. */
static int64_t sound_records(span *section, int64_t count)
{
    int64_t index;
    parts found;
    for (index = 0; index < count; index++) {
        span before = *section;
        if (!record(section, index, &found)) {
            *section = before;
            return index;
        }
    }
    return index;
}

/* The arguments (buffer, start, count) as a section. */
static int section_of(PyObject *const *arguments, Py_buffer *view, span *section, int64_t *count)
{
    Py_ssize_t start = PyLong_AsSsize_t(arguments[1]);
    *count = PyLong_AsLongLong(arguments[2]);
    if (PyErr_Occurred() || PyObject_GetBuffer(arguments[0], view, PyBUF_SIMPLE) < 0)
        return 0;
    if (start < 0 || start > view->len) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_ValueError, "the section starts outside of the buffer");
        return 0;
    }
    section->at = (const uint8_t *)view->buf + start;
    section->end = (const uint8_t *)view->buf + view->len;
    return 1;
}

PyDoc_STRVAR(first_unsound_doc, "first_unsound(buffer, start, count) -> (index, position) of what is unsound, or None.");

static PyObject *first_unsound(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer view;
    span section;
    int64_t count, found;
    Py_ssize_t position;
    int is_whole;
    (void)module;
    if (given != 3) {
        PyErr_SetString(PyExc_TypeError, "first_unsound takes a buffer, a start and a count");
        return NULL;
    }
    if (!section_of(arguments, &view, &section, &count))
        return NULL;
    if (section.end - section.at >= LONG_BYTES) {
        Py_BEGIN_ALLOW_THREADS
        found = sound_records(&section, count);
        Py_END_ALLOW_THREADS
    } else {
        found = sound_records(&section, count);
    }
    position = section.at - (const uint8_t *)view.buf;
    is_whole = found >= count && section.at == section.end;
    PyBuffer_Release(&view);
    if (is_whole)
        Py_RETURN_NONE;
    return Py_BuildValue("Ln", (long long)found, position);
}

PyDoc_STRVAR(without_key_doc, "without_key(buffer, start, count, most) -> (how many have no key, indexes of the first).");

static PyObject *without_key(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer view;
    span section;
    int64_t count, index, total = 0, most;
    parts found;
    PyObject *indexes;
    (void)module;
    if (given != 4) {
        PyErr_SetString(PyExc_TypeError, "without_key takes a buffer, a start, a count and how many to name");
        return NULL;
    }
    most = PyLong_AsLongLong(arguments[3]);
    if (!section_of(arguments, &view, &section, &count))
        return NULL;
    indexes = PyList_New(0);
    for (index = 0; indexes != NULL && index < count && record(&section, index, &found); index++) {
        if (found.key_size >= 0)
            continue;
        if (total++ < most) {
            PyObject *named = PyLong_FromLongLong(index);
            if (named == NULL || PyList_Append(indexes, named) < 0)
                Py_CLEAR(indexes);
            Py_XDECREF(named);
        }
    }
    PyBuffer_Release(&view);
    return indexes == NULL ? NULL : Py_BuildValue("LN", (long long)total, indexes);
}

PyDoc_STRVAR(
    common_beginning_doc,
    "common_beginning(buffer, start, count, size, of_keys) -> (index, position) of the first, if all begin alike, or None.");

static PyObject *common_beginning(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer view;
    span section;
    int64_t count, index, first_index = -1;
    Py_ssize_t size, position;
    const uint8_t *first = NULL;
    parts found;
    int is_common = 1, of_keys;
    (void)module;
    if (given != 5) {
        PyErr_SetString(PyExc_TypeError, "common_beginning takes a buffer, a start, a count, a size and whether of keys");
        return NULL;
    }
    of_keys = PyObject_IsTrue(arguments[4]);
    if (of_keys < 0)
        return NULL;
    size = PyLong_AsSsize_t(arguments[3]);
    if (size < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a size is at least 0");
        return NULL;
    }
    if (!section_of(arguments, &view, &section, &count))
        return NULL;
    for (index = 0; is_common && index < count; index++) {
        if (!record(&section, index, &found)) {
            is_common = 0;
        } else {
            int64_t length = of_keys ? found.key_size : found.value_size;
            const uint8_t *begin = of_keys ? found.key : found.value;
            if (length < 0)
                continue;
            if (length < size)
                is_common = 0;
            else if (first == NULL) {
                first = begin;
                first_index = index;
            } else {
                is_common = memcmp(first, begin, (size_t)size) == 0;
            }
        }
    }
    position = first == NULL ? 0 : first - (const uint8_t *)view.buf;
    PyBuffer_Release(&view);
    if (!is_common || first == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("Ln", (long long)first_index, position);
}

PyDoc_STRVAR(values_doc, "values(buffer, start, count) -> (index, begin, end) of each value, or None if unsound.");

static PyObject *values(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    Py_buffer view;
    span section;
    int64_t count, index;
    parts found;
    PyObject *places;
    int is_sound = 1;
    (void)module;
    if (given != 3) {
        PyErr_SetString(PyExc_TypeError, "values takes a buffer, a start and a count");
        return NULL;
    }
    if (!section_of(arguments, &view, &section, &count))
        return NULL;
    places = PyList_New(0);
    for (index = 0; places != NULL && is_sound && index < count; index++) {
        is_sound = record(&section, index, &found);
        if (is_sound && found.value_size >= 0) {
            Py_ssize_t begin = found.value - (const uint8_t *)view.buf;
            PyObject *place = Py_BuildValue("Lnn", (long long)index, begin, begin + (Py_ssize_t)found.value_size);
            if (place == NULL || PyList_Append(places, place) < 0)
                Py_CLEAR(places);
            Py_XDECREF(place);
        }
    }
    PyBuffer_Release(&view);
    if (places != NULL && !is_sound) {
        Py_DECREF(places);
        Py_RETURN_NONE;
    }
    return places;
}

static PyMethodDef methods[] = {
    {"common_beginning", (PyCFunction)(void (*)(void))common_beginning, METH_FASTCALL, common_beginning_doc},
    {"first_unsound", (PyCFunction)(void (*)(void))first_unsound, METH_FASTCALL, first_unsound_doc},
    {"values", (PyCFunction)(void (*)(void))values, METH_FASTCALL, values_doc},
    {"without_key", (PyCFunction)(void (*)(void))without_key, METH_FASTCALL, without_key_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_walk", "The walk over a batch's records, compiled.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__walk(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "VERSION", VERSION) < 0)
        Py_CLEAR(module);
    return module;
}
