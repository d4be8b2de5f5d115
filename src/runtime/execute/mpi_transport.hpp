#pragma once

#include "runtime/execute/accounts.hpp"
#include "runtime/execute/transport.hpp"
#include "runtime/mpi/error.hpp"

#include <vector>

namespace thalweg::runtime {

/// Carries messages by the MPI library's point-to-point functions. A message for which there is no
/// credit waits here. All functions throw MpiError.
class MpiTransport final : public Transport {
public:
  struct Setup {
    MPI_Comm comm{}; ///< its calls return errors
    int tag = 0;
    const int* ranks = nullptr; ///< in `comm`, of the collective's ranks
    MPI_Datatype type{};        ///< of a unit
    MPI_Op op{};                ///< if anything is combined
    UnitShape shape;
    bool contiguous = true;       ///< units are copied as bytes
    Accounts* accounts = nullptr; ///< with the ranks of `comm`
    int window = 1;               ///< messages in flight
  };
  /// Requires that no message is posted.
  void set_up(const Setup& setup) { _setup = setup; }

  void send(Token token, collective::Rank to, const std::byte* data, std::int64_t units) override;
  void receive(Token token, collective::Rank from, std::byte* data, std::int64_t units) override;
  std::span<const Token> wait() override;
  /// Returns the messages that are complete by now; valid until the next call.
  std::span<const Token> test();
  /// Whether nothing is posted, and nothing waits to be.
  [[nodiscard]] bool idle() const { return _requests.empty() && _deferred.empty(); }
  /// Waits for what was posted besides messages of the collective.
  void finish();
  void copy(const std::byte* from, std::byte* to, std::int64_t units) override;
  void combine(const std::byte* left, std::byte* right, std::int64_t units) override;

private:
  /// Calls `post(offset in bytes, units, request)` for parts that fit an int.
  template <class Post>
  void post(Token token, std::int64_t units, const Post& post);

  static constexpr Token no_token = -1; ///< of an acknowledgement
  /// A message that waits for credit.
  struct Deferred {
    Token token;
    collective::Rank to;
    const std::byte* data;
    std::int64_t units;
  };
  bool may_send(collective::Rank to);
  void start_send(const Deferred& message);
  void send_deferred();
  /// Takes note of what is complete by now. Returns whether anything is.
  bool take_completed();
  void await_completed();
  void acknowledge_completed();
  void acknowledge(Token token);

  /// Returns the number of completed requests, whose positions are in _indices. Simulated, it waits
  /// for one: each look that finds nothing would take simulated time.
  int poll();

  Setup _setup;
  std::vector<MPI_Request> _requests; ///< of posted messages
  std::vector<Token> _tokens;         ///< by request
  std::vector<int> _indices;
  std::vector<MPI_Status> _statuses;
  std::vector<Token> _completed;
  std::vector<Deferred> _deferred; ///< in the order of send()
  struct Acknowledgement {
    Token token;
    collective::Rank from;
  };
  std::vector<Acknowledgement> _acknowledgements; ///< to be made when these are complete
};

} // namespace thalweg::runtime
