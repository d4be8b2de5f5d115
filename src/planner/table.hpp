#pragma once

#include "planner/predicted_times.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace thalweg::planner {

/// Entry::min_size of the row for blocks whose sizes only their two ends know, and of a barrier. A
/// row alone with it is for all sizes.
inline constexpr Size unknown_size = 0;

/// One row: the plan for messages of at least `min_size` bytes, up to the next row's. Integers
/// only.
struct Entry {
  collective::Kind kind{};
  collective::Rank root = 0; ///< the root it was planned for; 0 where there is none
  Size min_size = 0;
  bool native = true;
  Skeleton skeleton; ///< of a plan that isn't native
  /// Another plan, which may be faster although it isn't predicted to be: the runtime tries it,
  /// where calls race.
  std::optional<Skeleton> second = {};
  std::vector<PredictedTimes> times = {}; ///< of sizes that were planned, ascending
  /// How uncertain native's time is for the smallest size that was planned, in per cent, and by
  /// which of its algorithms; 0 and empty: not predicted.
  std::int32_t native_percent = 0;
  std::string native_algorithm = {};
  bool operator==(const Entry&) const = default;
};

/// Says in a row which algorithm native takes, and how uncertain its time is.
void set_native(Entry& entry, const Native& native);

/// What a row says of an operation besides its plans.
struct RowOutline {
  Size min_size = 0;       ///< with collective and root it names the row
  bool native = true;      ///< the plan
  bool has_second = false; ///< another plan
};

/// All plans of one placement: what the runtime decides from. The decision is an integer-only
/// function of the table and of arguments that MPI guarantees equal on all ranks.
struct Table {
  network::Placement placement; ///< hosts of the communicator's ranks
  /// Ascending by (kind, root, min_size). A root without rows of its own has those of the first
  /// rank on its host, with the two ranks exchanged: plans take as long from one as from the other,
  /// and a table for many ranks per host stays small. Plans of the algorithm "listed" aren't
  /// exchanged; such a row is native for the others.
  std::vector<Entry> entries;

  /// Returns a root's rows, ascending by min_size. O(log entries + ranks × rows).
  [[nodiscard]] std::vector<Entry> rows(collective::Kind kind, collective::Rank root) const;
  /// Returns the row for an operation, or null: native. It is the table's own, and valid as long as
  /// that is, or was made for a root that shares it. O(log entries + ranks × trees).
  /// @param size unknown_size: where ranks know the sizes of their own blocks only
  [[nodiscard]] std::shared_ptr<const Entry> find(collective::Kind kind, collective::Rank root,
                                                  Size size) const;
  /// Returns what find() would, without the plans; none: native. O(log entries + ranks).
  [[nodiscard]] std::optional<RowOutline> outline(collective::Kind kind, collective::Rank root,
                                                  Size size) const;
  /// Gives a root rows of its own, so that they can be changed: those that it shares, or else one
  /// that says native.
  void own_rows(collective::Kind kind, collective::Rank root);
  /// Does so for all ranks of a root's host, so that none follows it.
  void own_rows_of_host(collective::Kind kind, collective::Rank root);
  /// Puts a row in its place. O(entries).
  void insert(Entry row);
  /// Puts rows in their order.
  void sort();
  /// Returns what a call of that size is predicted to take: by interpolate() from the sizes that
  /// were planned for its row and for the rows beside it. Nothing is known of what the row knows
  /// for none of its sizes. The limit isn't above the plan's time.
  [[nodiscard]] PredictedTimes predict(collective::Kind kind, collective::Rank root,
                                       Size size) const;
  /// Returns what it says so by, for all sizes of a row: the function below does the rest.
  [[nodiscard]] std::vector<PredictedTimes> known_times(collective::Kind kind,
                                                        collective::Rank root, Size size) const;
  bool operator==(const Table&) const = default;
};

/// Returns what Table::predict() does. O(number of sizes). @param known by Table::known_times()
PredictedTimes predict(std::span<const PredictedTimes> known, Size size);

/// A plan file: the network that was planned for, and tables for one or more placements.
struct PlanFile {
  network::Network network;
  std::string library; ///< whose message costs were used
  std::vector<Table> tables;
};

/// Plans every kind in `kinds`, every root, and size classes of an octave from 1 byte to
/// `max_size`; a size is of the vector, or of one block. A class is planned for its geometric mean:
/// from all candidates, or from the best of its neighbours where their times show that no candidate
/// gains (RowPlanner); between two that choose the same it takes that. It takes a neighbour's plan
/// where that is predicted faster. Neighbouring
/// classes with the same choice share a row, with the predicted times of each that was planned. A
/// row begins at the size from which on it is the faster one; the last one is
/// open. Gather, scatter and alltoall of up to 256 ranks also have a row for unknown sizes, unless
/// that is native (plan_unknown_sizes()).
///
/// The first rank of each host is planned as a root, and what other ranks can't have from it
/// (Table::entries): rank 0 first, then one of each group whose hosts are alike (by site, ports and
/// links) from the rows of rank 0, then the others from those of their group's first
/// (RowPlanner::plan_from()). With more than 16 ranks these get the same plan, mirrored (Mirror) or
/// built for them; where that would be more than Preset::most_listed they get none. At effort
/// `estimate`: classes of two octaves, of four with more than 32 ranks; all hosts get the choices
/// of rank 0. A single rank gets no rows.
///
/// PlanOptions::threads plan at the same time. The table doesn't depend on their number.
/// @throws std::invalid_argument if a rank's host isn't in the network; Cancelled
Table make_table(const network::Network& network, const network::Placement& placement,
                 std::span<const collective::Kind> kinds, const PlanOptions& options = {},
                 Size max_size = Size{1} << 27);

/// Returns a table at effort `estimate`, for communicators that no file knows: every kind, with
/// more than 32 ranks bcast, reduce and allreduce, up to 4 MiB. Takes 0.1 to 0.2 s for 16 or 64
/// ranks, 1 to 4 s for 1,024. The table has no rows, which means native, if a rank's host isn't in
/// the network. @throws Cancelled
Table quick_table(const network::Network& network, const network::Placement& placement,
                  const PlanOptions& options = {});

/// The binary form that the runtime reads: magic, version, checksum; little-endian.
std::vector<std::byte> to_bytes(const PlanFile& file);
/// @throws std::invalid_argument if it isn't a plan file of this version, or is damaged
PlanFile from_bytes(std::span<const std::byte> bytes);
/// A table alone, as ranks share it inside the process.
std::vector<std::byte> to_bytes(const Table& table);
Table table_from_bytes(std::span<const std::byte> bytes);
/// A single plan, as wisdom keeps it.
std::vector<std::byte> to_bytes(const Plan& plan);
/// @param ranks that it is for
Plan plan_from_bytes(std::span<const std::byte> bytes, collective::Rank ranks);

} // namespace thalweg::planner
