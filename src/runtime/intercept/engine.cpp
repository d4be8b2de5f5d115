#include "runtime/intercept/engine.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace thalweg::runtime {
namespace {

/// The most memory that the executors keep between calls, all together.
constexpr std::int64_t most_kept = std::int64_t{128} << 20;
/// The most executors that are kept between calls.
constexpr std::size_t most_free = 8;

} // namespace

struct Engine::Pool {
  Pool() { free.reserve(most_free); }
  std::mutex mutex;
  std::vector<std::unique_ptr<Parts>> free; ///< the one that was used last is the last one

  /// Takes an executor back. Those that were used lately keep their memory, and are used next.
  void add(std::unique_ptr<Parts> parts) {
    if (free.size() == most_free) free.erase(free.begin());
    free.push_back(std::move(parts));
    std::int64_t left = most_kept;
    for (auto it = free.rbegin(); it != free.rend(); ++it) {
      (*it)->shrink(left);
      left -= (*it)->kept();
    }
  }
};

std::int64_t Engine::Parts::kept() const { return memory.kept() + execution.kept(); }

void Engine::Parts::shrink(std::int64_t bytes) {
  memory.shrink(bytes);
  execution.shrink(bytes - memory.kept());
}

Engine::Pool& Engine::pool() {
  static auto* const pool = new Pool; // never destroyed: calls may come from other threads at exit
  return *pool;
}

Engine::Engine() {
  const std::lock_guard lock(pool().mutex);
  if (pool().free.empty()) {
    _parts = std::make_unique<Parts>().release();
  } else {
    _parts = pool().free.back().release();
    pool().free.pop_back();
  }
}

Engine::~Engine() {
  if (_parts == nullptr) return;
  _parts->memory.release_all();
  const std::lock_guard lock(pool().mutex);
  pool().add(std::unique_ptr<Parts>(_parts));
}

std::byte* Engine::acquire(std::int64_t units, const UnitShape& shape) {
  _parts->memory.set_shape(shape);
  return _parts->memory.address(_parts->memory.acquire(units));
}

void Engine::run(const Prepared& prepared, const Layout& layout, const Task& task,
                 const MpiTransport::Setup& setup) {
  Parts* const parts = std::exchange(_parts, nullptr);
  parts->transport.set_up(setup);
  parts->execution.run(*prepared.program, layout, task, parts->transport);
  parts->transport.finish();
  _parts = parts;
}

void Engine::start(const Prepared& prepared, const Layout& layout, const Task& task,
                   const MpiTransport::Setup& setup) {
  Parts* const parts = std::exchange(_parts, nullptr);
  parts->transport.set_up(setup);
  parts->execution.start(*prepared.program, layout, task, parts->transport);
  _parts = parts;
}

Progress Engine::advance() {
  Parts* const parts = std::exchange(_parts, nullptr);
  Progress progress = Progress::none;
  for (const Transport::Token token : parts->transport.test()) {
    parts->execution.complete(token);
    progress = Progress::some;
  }
  if (progress == Progress::some) parts->execution.advance();
  if (parts->execution.finished() && parts->transport.idle()) progress = Progress::done;
  _parts = parts;
  return progress;
}

void Engine::copy(const std::byte* from, std::byte* to, std::int64_t units,
                  const MpiTransport::Setup& setup) {
  _parts->transport.set_up(setup);
  _parts->transport.copy(from, to, units);
}

} // namespace thalweg::runtime
