/* Calls with one thing wrong in each, and what the driver says to it: bad MODEL.anec */
#include "client.h"

#define REFUSED(call, error) CHECK((errno = 0, (call)) == -1 && errno == (error))

static int fd;

static void submit_with(const struct program *program, size_t field, size_t bytes, uint64_t value, int error)
{
	struct drm_ane_submit submit = submission(program);
	memcpy((char *)&submit + field, &value, bytes);
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_SUBMIT, &submit), error);
}

#define FIELD(name) offsetof(struct drm_ane_submit, name), sizeof(((struct drm_ane_submit *)0)->name)
#define HANDLE(index) offsetof(struct drm_ane_submit, handles) + (index) * sizeof(uint32_t), sizeof(uint32_t)

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	fd = open_device();
	CHECK(fd >= 0);
	struct program program = load_program(fd, argv[1]);

	/* The existing driver's three. */
	struct drm_ane_bo_init init = { .size = 0x4000, .pad = 1 };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_BO_INIT, &init), EINVAL);
	init = (struct drm_ane_bo_init){ .size = 0 };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_BO_INIT, &init), EINVAL);
	init = (struct drm_ane_bo_init){ .size = UINT64_MAX };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_BO_INIT, &init), EINVAL);
	struct drm_ane_bo_free gone = { .handle = program.bars[0].handle, .pad = 1 };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_BO_FREE, &gone), EINVAL);
	gone = (struct drm_ane_bo_free){ .handle = 0x7ffffff };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_BO_FREE, &gone), EINVAL);
	submit_with(&program, FIELD(tsk_size), 0, EINVAL);
	submit_with(&program, FIELD(tsk_size), program.bars[0].size, EINVAL);
	submit_with(&program, FIELD(tsk_size), UINT64_MAX, EINVAL);
	submit_with(&program, FIELD(td_count), 0, EINVAL);
	submit_with(&program, FIELD(td_size), 0, EINVAL);
	submit_with(&program, HANDLE(0), 0, EINVAL);
	submit_with(&program, HANDLE(1), program.bars[4].handle, EINVAL);
	submit_with(&program, HANDLE(31), 0x7ffffff, EINVAL);
	submit_with(&program, FIELD(btsp_handle), 0, EINVAL);
	submit_with(&program, FIELD(btsp_handle), 0x7ffffff, EINVAL);
	submit_with(&program, FIELD(pad), 1, EINVAL);

	/* Pointers that lead nowhere, or where nothing may be written: errors, and the client lives. */
	void *nowhere = mmap(NULL, 0x4000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *constant = mmap(NULL, 0x4000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(nowhere != MAP_FAILED && constant != MAP_FAILED);
	void *bad[] = { NULL, (void *)8, nowhere, (char *)nowhere - 4, (void *)UINTPTR_MAX };
	static const unsigned long numbers[] = {
		DRM_IOCTL_ANE_BO_INIT, DRM_IOCTL_ANE_SUBMIT, DRM_IOCTL_ANE_GET_PARAM, DRM_IOCTL_ANE_WAIT, IOCTL_VERSION,
	};
	for (unsigned number = 0; number < sizeof numbers / sizeof *numbers; number++) {
		for (unsigned pointer = 0; pointer < sizeof bad / sizeof *bad; pointer++)
			REFUSED(ioctl(fd, numbers[number], bad[pointer]), EFAULT);
	}
	REFUSED(ioctl(fd, IOCTL_VERSION, constant), EFAULT);
	for (unsigned pointer = 0; pointer < 3; pointer++) {
		struct drm_ane_wait wait = { .fences = (uintptr_t)bad[pointer], .count = 2, .fence_size = sizeof(struct drm_ane_fence) };
		REFUSED(ioctl(fd, DRM_IOCTL_ANE_WAIT, &wait), EFAULT);
		struct drm_ane_get_stats stats = { .counters = (uintptr_t)bad[pointer], .count = 4 };
		REFUSED(ioctl(fd, DRM_IOCTL_ANE_GET_STATS, &stats), EFAULT);
		struct drm_ane_chain chain = { .requests = (uintptr_t)bad[pointer], .request_count = 2, .request_size = sizeof(struct drm_ane_request) };
		REFUSED(ioctl(fd, DRM_IOCTL_ANE_SUBMIT_CHAIN, &chain), EFAULT);
		struct version version = { .name_len = 3, .name = bad[pointer] };
		/* As with every DRM driver, no place for the name is a question how long it is. */
		if (bad[pointer])
			REFUSED(ioctl(fd, IOCTL_VERSION, &version), EFAULT);
		else
			CHECK(ioctl(fd, IOCTL_VERSION, &version) == 0 && version.name_len == 3);
	}
	struct drm_ane_get_stats stats = { .counters = (uintptr_t)constant, .count = 16 };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_GET_STATS, &stats), EFAULT);
	struct drm_ane_wait many = { .fences = (uintptr_t)nowhere, .count = UINT32_MAX, .fence_size = sizeof(struct drm_ane_fence) };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_WAIT, &many), E2BIG);

	/* A name with room for less, and for more than there is memory. */
	char *end = (char *)mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 0x1000;
	CHECK(munmap(end, 0x1000) == 0);
	struct version version = { .name_len = 2, .name = end - 2 };
	CHECK(ioctl(fd, IOCTL_VERSION, &version) == 0 && version.name_len == 3 && memcmp(end - 2, "an", 2) == 0);
	version = (struct version){ .name_len = SIZE_MAX, .name = end - 3 };
	CHECK(ioctl(fd, IOCTL_VERSION, &version) == 0 && memcmp(end - 3, "ane", 3) == 0);

	/* Numbers that are none, and what the node as one file cannot give. */
	REFUSED(ioctl(fd, _IOWR('d', 0x7f, struct version), &version), ENOTTY);
	REFUSED(ioctl(fd, _IOWR('d', 0x41, uint32_t), &version), ENOTTY);
	REFUSED(ioctl(fd, _IO('T', 1), &version), ENOTTY);
	struct drm_ane_bo_create scattered = { .size = 0x8000, .flags = ANE_BO_SCATTERED, .usage = ANE_USAGE_INPUT_TENSOR, .pool = ANE_HANDLE_NONE };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_BO_CREATE, &scattered), EOPNOTSUPP);
	struct drm_ane_context_detach detach = { 0 };
	REFUSED(ioctl(fd, DRM_IOCTL_ANE_CONTEXT_DETACH, &detach), EBUSY);

	/* Paths. */
	REFUSED(open("/dev/accel/accel1", O_RDWR), ENOENT);
	REFUSED(open("/dev/accel/accel0/x", O_RDWR), ENOENT);
	REFUSED(open("/dev/accel/accel0", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
	REFUSED(open("/dev/accel/accel0", O_RDONLY | O_DIRECTORY), ENOTDIR);
	REFUSED(access("/dev/accel/accel0", X_OK), EACCES);

	/* After all that it works, and success leaves errno alone. */
	struct drm_ane_submit submit = submission(&program);
	errno = ENOTEMPTY;
	CHECK(ioctl(fd, DRM_IOCTL_ANE_SUBMIT, &submit) == 0 && errno == ENOTEMPTY);
	return 0;
}
