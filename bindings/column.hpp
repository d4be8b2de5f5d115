#pragma once

#include <nanobind/ndarray.h>

namespace thalweg::bindings {

/// A column of numbers that Python passes, without a copy.
template <class T>
using Column =
    nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

} // namespace thalweg::bindings
