#include "runtime/setup/runtime.hpp"

/// Functions that a program may look up by dlsym(RTLD_DEFAULT, ...).
extern "C" {

/// Sets THALWEG_FORCE from now on; "" returns to the plan, "native" makes all calls native. All
/// ranks must call it alike, between collectives. Returns 0, or -1 if the text is wrong or nothing
/// can be planned.
__attribute__((visibility("default"))) int thalweg_force(const char* text);
/// Returns the version, such as "0.1.0".
__attribute__((visibility("default"))) const char* thalweg_version();

int thalweg_force(const char* text) { return thalweg::runtime::set_force(text); }

const char* thalweg_version() { return THALWEG_VERSION; }
}
