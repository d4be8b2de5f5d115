/// What the examples share: options, times, and how they begin and end.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

namespace example {

/// A command-line option that is followed by its value.
struct Option {
  std::string name; ///< "--size"
  std::variant<int*, unsigned*, std::size_t*, double*, std::string*> value;
  double least = 0; ///< of a number
};

constexpr double largest = 1e9; ///< of any option's number

/// Sets an option's value. Throws std::invalid_argument.
inline void set(const Option& option, const std::string& text) {
  const auto set_to = [&]<class T>(T* value) {
    if constexpr (std::is_same_v<T, std::string>) {
      *value = text;
    } else {
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      constexpr bool whole = std::is_integral_v<T>;
      if (text.empty() || *end != 0 || !(number >= option.least && number <= largest) ||
          (whole && std::trunc(number) != number))
        throw std::invalid_argument(
            option.name + " takes a " + (whole ? "whole " : "") + "number from " +
            std::to_string(static_cast<long>(option.least)) + " to 1e9, not \"" + text + "\"");
      *value = static_cast<T>(number);
    }
  };
  std::visit(set_to, option.value);
}

/// Returns the larger of two errors. One that isn't a number is infinite, which MPI_MAX keeps.
inline double larger_error(double most, double error) {
  if (std::isnan(error)) return HUGE_VAL;
  return error > most ? error : most;
}

/// Sets the options that the command line has. Throws std::invalid_argument.
inline void parse(int argc, char** argv, std::span<const Option> options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const Option* found = nullptr;
    for (const Option& option : options)
      if (option.name == name) found = &option;
    if (found == nullptr) throw std::invalid_argument("unknown option " + name);
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value after it");
    set(*found, argv[i + 1]);
  }
}

/// Returns how many times slower an emulated network is than it stands for: the default of
/// --dilation.
inline double lab_dilation() {
  const char* text = std::getenv("THALWEG_LAB_DILATION");
  return text != nullptr ? std::strtod(text, nullptr) : 1;
}

/// Returns seconds of a clock that never goes back.
inline double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// Adds the time since its construction to `sum` when it goes out of scope.
class Timer {
public:
  explicit Timer(double& sum) : _sum(sum), _begin(now()) {}
  ~Timer() { _sum += now() - _begin; }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

private:
  double& _sum;
  double _begin;
};

inline int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int size_of_world() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Returns means over the ranks of a struct of doubles; complete on rank 0 only. Collective.
template <class Times>
Times mean(const Times& own, int ranks) {
  static_assert(std::is_trivially_copyable_v<Times> && sizeof(Times) % sizeof(double) == 0);
  std::array<double, sizeof(Times) / sizeof(double)> sums{};
  MPI_Reduce(&own, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  for (double& sum : sums)
    sum /= ranks;
  return std::bit_cast<Times>(sums);
}

/// Prints where a part of the time went, in the emulated network's own time.
inline void print_part(const char* name, double seconds, double total, double dilation) {
  std::printf("  %-14s %9.4f s %5.1f %%\n", name, seconds / dilation, 100 * seconds / total);
}

/// Runs a program between MPI_Init and MPI_Finalize; returns its exit status: 0 if `run` returns
/// true, 2 after an error, which rank 0 prints.
/// @param run takes argc, argv and the seconds that MPI_Init took; what it throws as
/// std::logic_error, all ranks throw alike
template <class Run>
int run_program(int argc, char** argv, const char* name, const char* usage, const Run& run) {
  const double begin = now();
  MPI_Init(&argc, &argv);
  const double initialisation = now() - begin;
  int status = 2;
  try {
    status = run(argc, argv, initialisation) ? 0 : 1;
  } catch (const std::logic_error& error) {
    if (rank_of_world() == 0) std::fprintf(stderr, "%s: %s\n%s", name, error.what(), usage);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return status;
}

} // namespace example
