/* libane used wrongly, and often: misused MODEL.anec */
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

#include "client.h"

#include "ane.h"

#define ROUNDS 50
/* More than there can be. */
#define PROGRAMS 512

static char **arguments;

/* Entries of a list of this process: its descriptors, or its mappings. */
static unsigned descriptors(void)
{
	unsigned count = 0;
	DIR *folder = opendir("/proc/self/fd");
	CHECK(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static unsigned device_mappings(void)
{
	char line[1024];
	unsigned count = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof line, maps))
		count += strstr(line, "rw-s") != NULL;
	fclose(maps);
	return count;
}

static int fails(const char *path, int device)
{
	errno = 0;
	CHECK(__ane_init(path, device) == NULL);
	return errno;
}

static struct ane_nn *loaded(void)
{
	struct ane_nn *nn = ane_init(arguments[1]);
	CHECK(nn);
	for (uint32_t input = 0; input < ane_src_count(nn); input++) {
		uint64_t nchw[6];
		memcpy(nchw, nn->anec.nchw[4 + ane_dst_count(nn) + input], sizeof nchw);
		size_t size = nchw[0] * nchw[1] * nchw[2] * nchw[3] * 2;
		/* From an odd address. */
		uint8_t *odd = malloc(size + 1);
		CHECK(odd);
		for (size_t at = 0; at < size; at++)
			odd[1 + at] = at % 2 ? 0x3c : (uint8_t)(at * 7);
		ane_tile_send(nn, odd + 1, input);
		free(odd);
	}
	return nn;
}

static void run(struct ane_nn *nn, uint32_t *sum)
{
	CHECK(ane_exec(nn) == 0);
	*sum = 0;
	for (uint32_t output = 0; output < ane_dst_count(nn); output++) {
		size_t size = ane_dst_size(nn, output);
		uint8_t *whole = malloc(size);
		CHECK(whole);
		ane_read(nn, whole, output);
		for (size_t at = 0; at < size; at++)
			*sum = *sum * 31 + whole[at];
		free(whole);
	}
}

static void *in_thread(void *sum)
{
	struct ane_nn *nn = loaded();
	for (int round = 0; round < ROUNDS; round++)
		run(nn, sum);
	ane_free(nn);
	return NULL;
}

static void nothing(void)
{
	uint8_t bytes[64];
	memset(bytes, 7, sizeof bytes);
	errno = 0;
	CHECK(ane_exec(NULL) == -1 && errno == EINVAL);
	CHECK(ane_src_size((struct ane_nn *)NULL, 0) == 0 && ane_dst_size((struct ane_nn *)NULL, 0) == 0);
	ane_send((struct ane_nn *)NULL, bytes, 0);
	ane_read((struct ane_nn *)NULL, bytes, 0);
	ane_tile_send((struct ane_nn *)NULL, bytes, 0);
	ane_tile_read((struct ane_nn *)NULL, bytes, 0);
	ane_free((struct ane_nn *)NULL);

	/* Tensors that are none: without elements, overlapping, and longer than addresses. */
	static const uint64_t none[][6] = {
		{ 0, 1, 1, 1, 64, 64 }, { 1, 1, 1, 0, 64, 64 }, { 1, 1, 2, 4, 64, 7 }, { 1, 2, 2, 4, 8, 64 },
		{ UINT64_MAX, 1, 1, 1, 64, 64 }, { 1, UINT64_MAX, UINT64_MAX, 1, 64, 64 }, { 2, 1, 1, 1, UINT64_MAX, 64 },
		{ 1, 1, 3, 1, 64, (uint64_t)1 << 63 }, { 1, 1, 2, 1, 64, UINT64_MAX }, { 3, UINT64_MAX / 2, 1, 1, 4, 4 },
	};
	for (size_t at = 0; at < sizeof none / sizeof *none; at++) {
		const uint64_t *of = none[at];
		ane_tile(bytes, bytes + 32, of[0], of[1], of[2], of[3], of[4], of[5]);
		ane_untile(bytes, bytes + 32, of[0], of[1], of[2], of[3], of[4], of[5]);
	}
	ane_tile(NULL, bytes, 1, 1, 1, 1, 64, 64);
	ane_tile(bytes, NULL, 1, 1, 1, 1, 64, 64);
	ane_untile(NULL, bytes, 1, 1, 1, 1, 64, 64);
	ane_untile(bytes, NULL, 1, 1, 1, 1, 64, 64);
	for (size_t at = 0; at < sizeof bytes; at++)
		CHECK(bytes[at] == 7);
	/* One row needs no length of rows. */
	uint8_t half[2] = { 1, 2 };
	ane_tile(half, bytes + 1, 1, 1, 1, 1, 0, 0);
	CHECK(bytes[0] == 7 && bytes[1] == 1 && bytes[2] == 2 && bytes[3] == 7);
}

static void no_program(void)
{
	CHECK(fails(NULL, 0) == EFAULT);
	CHECK(fails("", 0) == ENOENT && fails("/nonexistent", 0) == ENOENT);
	CHECK(fails("/", 0) == EISDIR);
	CHECK(fails("/dev/null", 0) == EINVAL && fails("/dev/zero", 0) == EINVAL && fails(arguments[0], 0) == EINVAL);
	CHECK(fails(arguments[1], -1) == ENODEV && fails(arguments[1], 1) == ENODEV && fails(arguments[1], 99) == ENODEV);
}

/* All that there are, and then one more. */
static void too_many(void)
{
	static struct ane_nn *programs[PROGRAMS];
	unsigned count = 0;
	errno = 0;
	while (count < PROGRAMS && (programs[count] = ane_init(arguments[1])))
		count++;
	CHECK(count > 1 && count < PROGRAMS && errno == EBUSY);
	while (count > 0)
		ane_free(programs[--count]);
}

int main(int argc, char **argv)
{
	uint32_t expected, sum, sums[2];
	pthread_t threads[2];
	int status;
	CHECK(argc == 2);
	arguments = argv;
	nothing();
	no_program();

	struct ane_nn *nn = loaded();
	run(nn, &expected);
	/* Indices that the program has not. */
	static const uint32_t indices[] = { 27, 28, 31, 32, 0x7fffffff, 0xfffffffc, UINT32_MAX };
	for (size_t at = 0; at < sizeof indices / sizeof *indices; at++) {
		ane_send(nn, &sum, indices[at]);
		ane_read(nn, &sum, indices[at]);
		ane_tile_send(nn, &sum, indices[at]);
		ane_tile_read(nn, &sum, indices[at]);
		CHECK(ane_src_size(nn, indices[at]) == 0 && ane_dst_size(nn, indices[at]) == 0);
	}
	/* Numbers that C changed: what does not fit any more is not done. */
	struct anec header = nn->anec;
	memset(nn->anec.nchw, 0xff, sizeof nn->anec.nchw);
	ane_tile_send(nn, &sum, 0);
	ane_tile_read(nn, &sum, 0);
	nn->anec.dst_count = nn->anec.src_count = UINT32_MAX;
	ane_tile_send(nn, &sum, UINT32_MAX - 4);
	nn->anec.td_count = 0;
	errno = 0;
	CHECK(ane_exec(nn) == -1 && errno == EINVAL);
	nn->anec = header;
	run(nn, &sum);
	CHECK(sum == expected);

	/* A child runs the same program, and leaves it alone. */
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		run(nn, &sum);
		_exit(sum != expected);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	run(nn, &sum);
	CHECK(sum == expected);

	for (int thread = 0; thread < 2; thread++)
		CHECK(pthread_create(&threads[thread], NULL, in_thread, &sums[thread]) == 0);
	for (int thread = 0; thread < 2; thread++)
		CHECK(pthread_join(threads[thread], NULL) == 0 && sums[thread] == expected);
	ane_free(nn);

	/* What was given back is gone, and so is what was never given. */
	too_many();
	unsigned open = descriptors(), mapped = device_mappings();
	for (int round = 0; round < ROUNDS; round++) {
		nn = loaded();
		ane_free(nn);
		no_program();
	}
	too_many();
	CHECK(descriptors() <= open && device_mappings() <= mapped);
	return 0;
}
