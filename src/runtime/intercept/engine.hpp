#pragma once

#include "runtime/choose/chooser.hpp"
#include "runtime/execute/execution.hpp"
#include "runtime/execute/helper.hpp"
#include "runtime/execute/mpi_transport.hpp"

namespace thalweg::runtime {

/// An executor with its transport and scratch memory, borrowed from a pool of the process for one
/// call. Throws MpiError and std::bad_alloc; the executor is then abandoned, since messages may
/// still be in flight in its memory.
class Engine {
public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Returns the address of the first unit of memory for units, valid until the engine is
  /// destroyed.
  std::byte* acquire(std::int64_t units, const UnitShape& shape);
  void run(const Prepared& prepared, const Layout& layout, const Task& task,
           const MpiTransport::Setup& setup);
  /// Begins what run() does. The arguments must outlive it.
  void start(const Prepared& prepared, const Layout& layout, const Task& task,
             const MpiTransport::Setup& setup);
  /// Goes on with what start() began, without waiting.
  Progress advance();
  void copy(const std::byte* from, std::byte* to, std::int64_t units,
            const MpiTransport::Setup& setup);

private:
  struct Parts {
    Execution execution;
    Scratch memory;
    MpiTransport transport;

    /// Returns the bytes of memory that they hold. O(blocks).
    [[nodiscard]] std::int64_t kept() const;
    /// Frees memory until they hold at most `bytes`. Requires that nothing is executed.
    void shrink(std::int64_t bytes);
  };
  struct Pool;
  static Pool& pool();
  Parts* _parts;
};

} // namespace thalweg::runtime
